import t from 'tap'
import type { TextContainer } from '../../../../jobs/rules/import/container.ts'
import {
  MAX_RECORD_BYTES,
  openSplitter,
} from '../../../../workers/import/containers/split-records.ts'
import type { Position } from '../../../../workers/import/containers/split-records.ts'
import { UploadFault } from '../../../../workers/import/containers/upload-fault.ts'
import fc from '../../../support/property.ts'

const START = { offset: 0, line: 0 }

/**
 * What a splitter finds when the text comes in pieces of the given sizes, over and over. The memory of each piece
 * is overwritten before the next one.
 */
function split(
  container: TextContainer,
  text: string | Buffer,
  sizes: readonly number[] = [],
  from: Position = START,
) {
  const bytes = Buffer.from(text as string)
  const splitter = openSplitter(container, from)
  const found = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = at + (sizes[i % sizes.length] ?? bytes.length)
    const piece = Buffer.from(bytes.subarray(at, end))
    for (const each of splitter.push(piece)) {
      found.push(each.kind === 'record' ? { ...each, bytes: Buffer.from(each.bytes) } : each)
    }
    piece.fill('!')
    at = end
  }
  let broken: UploadFault | undefined
  try {
    found.push(...splitter.end())
  } catch (error) {
    if (!(error instanceof UploadFault)) throw error
    broken = error
  }
  const texts = found.flatMap((each) => {
    if (each.kind === 'blank') return []
    const text = each.kind === 'record' ? each.bytes.toString() : each.code
    return [{ text, line: each.after.line, after: each.after }]
  })
  if (!broken) return texts
  const after = texts.at(-1)?.after ?? from
  return [...texts, { text: broken.code, line: after.line + 1, after }]
}

const values = fc.array(fc.jsonValue({ noUnicodeString: false }), { maxLength: 12 })
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })
const space = fc.constantFrom('', ' ', '\n', '\t\r\n  ')

t.test('splitting records', async (t) => {
  t.test('lines come out whole wherever the bytes are cut', async (t) => {
    fc.assert(
      fc.property(
        values,
        sizes,
        fc.constantFrom('\n', '\r\n', '\n\n \n'),
        fc.boolean(),
        (list, cuts, end, closed) => {
          const texts = list.map((value) => JSON.stringify(value))
          const file = texts.join(end) + (closed ? end : '')
          const found = split('lines', file, cuts).map(({ text }) => text.trim())
          t.strictSame(found, texts)
        },
      ),
    )
  })

  t.test('elements of an array come out whole wherever the bytes are cut', async (t) => {
    fc.assert(
      fc.property(values, sizes, space, fc.constantFrom(0, 2), (list, cuts, gap, indent) => {
        const texts = list.map((value) => JSON.stringify(value, null, indent))
        const file = `${gap}${texts.join(`${gap},${gap}`)}${gap}]${gap}`
        const found = split('array', file, cuts)
        t.strictSame(
          found.map(({ text }) => text),
          texts,
        )
        t.strictSame(
          found.map(({ line }) => line),
          texts.map((_, i) => i + 1),
        )
      }),
    )
  })

  t.test('values come out whole wherever the bytes are cut', async (t) => {
    const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 8 })
    fc.assert(
      fc.property(objects, sizes, (list, cuts) => {
        const texts = list.map((value) => JSON.stringify(value, null, 2))
        t.strictSame(
          split('values', texts.join('\n'), cuts).map(({ text }) => text),
          texts,
        )
      }),
    )
  })

  t.test('reading goes on from any place between two records', async (t) => {
    fc.assert(
      fc.property(values, fc.constantFrom<TextContainer>('lines', 'array'), (list, container) => {
        const texts = list.map((value) => JSON.stringify(value))
        const file = container === 'lines' ? texts.join('\n') : `${texts.join(', ')}]`
        const all = split(container, file)
        all.forEach(({ after }, i) => {
          const rest = split(container, Buffer.from(file).subarray(after.offset), [3], after)
          t.strictSame(rest, all.slice(i + 1))
        })
      }),
    )
  })

  t.test('numbers of lines count the blank ones', async (t) => {
    const found = split('lines', '\n{}\n \r\n\n{"a":1}')
    t.match(found, [
      { text: '{}', line: 2 },
      { text: '{"a":1}', line: 5 },
    ])
  })

  t.test('a record that is too long is one fault and those behind it come out', async (t) => {
    const long = 'x'.repeat(MAX_RECORD_BYTES + 1)
    const expected = [
      { text: '{}', line: 1 },
      { text: 'too_long', line: 2 },
      { text: '[1]', line: 3 },
    ]
    for (const size of [1 << 16, 1 << 20, 1 << 25]) {
      t.match(split('lines', `{}\n"${long}"\n[1]\n`, [size]), expected)
      t.match(split('array', `{},"${long}",[1]]`, [size]), expected)
    }
  })

  t.test('a file that ends early keeps what came before', async (t) => {
    t.match(split('array', '{"a":1},{"b":'), [{ text: '{"a":1}' }, { text: 'truncated', line: 2 }])
    t.match(split('array', '{"a":1},'), [{ text: '{"a":1}' }, { text: 'truncated', line: 2 }])
    t.match(split('values', '{"a":1}\n{"b":'), [{ text: '{"a":1}' }, { text: 'truncated' }])
    t.match(split('array', '"a]'), [{ text: 'truncated', line: 1 }])
  })

  t.test('what is no JSON does not stop what follows it', async (t) => {
    t.same(
      split('array', '{"a" 1}, nonsense , {"b":1]}, {"c":1}]').map(({ text }) => text),
      ['{"a" 1}', 'nonsense', '{"b":1]', '}', '{"c":1}'],
    )
    t.match(split('array', '1] 2'), [{ text: '1' }, { text: 'trailing_content' }])
    t.match(split('envelope', '1], "more": {"a": [1]}}'), [{ text: '1' }])
    t.same(
      split('values', '{"a":1}}\n{"b":1}').map(({ text }) => text),
      ['{"a":1}', '}', '{"b":1}'],
    )
  })
})
