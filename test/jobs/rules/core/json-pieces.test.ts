import t from 'tap'
import { JsonScan } from '../../../../jobs/rules/core/json-scan.ts'
import { parseInPieces, UnparsedJson } from '../../../../jobs/rules/core/json-pieces.ts'
import fc from '../../../support/property.ts'

t.test('a text parsed in pieces', async (t) => {
  t.test('is what JSON.parse makes of it, members in the same order', async (t) => {
    // Pieces are cut by bytes: long texts beside the small values bring cuts to every place.
    const filler = fc.integer({ min: 0, max: 80_000 }).map((length) => 'é"\\'.repeat(length / 3))
    const value = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        filler,
        fc.array(tie('any'), { maxLength: 8 }),
        fc.dictionary(fc.oneof(fc.constantFrom('', '1', 'a', 'traces'), fc.string()), tie('any'), {
          maxKeys: 8,
        }),
      ),
    })).any
    const space = fc.constantFrom(undefined, 1, '\n\t')
    fc.assert(
      fc.property(value, space, (value, space) => {
        const text = JSON.stringify(value, null, space)
        return JSON.stringify(parse(text)) === JSON.stringify(JSON.parse(text))
      }),
      { numRuns: 150 },
    )
    t.pass()
  })

  t.test('takes the last of two members of one name, in the place of the first', async (t) => {
    const long = `"${'x'.repeat(70_000)}"`
    const text = `{"b":[${long},1],"a":[1,${long},2],"":[${long},[${long},{}]],"b":{"c":${long},"1":2},"":3}`
    t.equal(JSON.stringify(parse(text)), JSON.stringify(JSON.parse(text)))
  })

  t.test('takes a member __proto__ as one like others, at each depth', async (t) => {
    const long = `"${'x'.repeat(70_000)}"`
    const text = `{"a":{"__proto__":${long},"b":${long}},"__proto__":{"c":[${long},{"__proto__":1}],"d":2}}`
    t.equal(JSON.stringify(parse(text)), JSON.stringify(JSON.parse(text)))
  })

  t.test('leaves the items of one list as they came', async (t) => {
    const items = ['{"a":[1,2]}', '"x,]"', `[${'1,'.repeat(100_000)}1]`, '3']
    for (const text of [
      `[ ${items.join(' ,\n')} ]`,
      `{"b":{"traces":[1]},"d":1,"traces":[${items.join()}],"c":[2]}`,
    ]) {
      const root = parse(text, 'traces') as unknown[] | { traces: unknown[] }
      const list = Array.isArray(root) ? root : root.traces
      t.same(
        list.map((item) => item instanceof UnparsedJson && JSON.parse(item.bytes.toString())),
        items.map((item) => JSON.parse(item)),
      )
    }
    t.equal((parse(`[${'1,'.repeat(99)}1]`, 'traces') as unknown[]).length, 5, 'one too many')
  })

  t.test('keeps short members beside that list', async (t) => {
    const long = `[${'{},'.repeat(90_000)}1]`
    for (const [text, value] of [
      ['{"b":{"traces":[1]},"traces":[ ],"c":[2]}', { b: { traces: [1] }, traces: [], c: [2] }],
      [`{"b":${long},"c":"x","traces":[], "d" : {"e":1} }`, { c: 'x', traces: [], d: { e: 1 } }],
      [`{"traces":[],"b":${long}}`, { traces: [] }],
      ['{"b":1}', { b: 1 }],
      [`{"b":${long}}`, {}],
      ['{}', {}],
    ] as const)
      t.same(parse(text, 'traces'), value)
    const { traces, ...beside } = parse('{"c":1,"traces":[1],"c":2}', 'traces') as Record<
      string,
      []
    >
    t.same([traces?.length, beside], [1, { c: 2 }])
  })

  t.test('yields often', async (t) => {
    const text = `[${'[{"a":1}],'.repeat(200_000)}1]`
    t.ok([...parseInPieces(Buffer.from(text))].length > 20)
  })
})

t.test('a text that is scanned', async (t) => {
  t.test('may come in any parts', async (t) => {
    const spoilt = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ...Array.from('{}[]":,\\ \n0e-.tx\u0001é')))
      .map(([text, place, put]) => {
        const at = place % (text.length + 1)
        return text.slice(0, at) + put + text.slice(at + (place % 2))
      })
    fc.assert(
      fc.property(spoilt, fc.integer({ min: 1, max: 9 }), (text, size) => {
        const bytes = Buffer.from(text)
        const [whole, parted] = [new JsonScan(), new JsonScan()]
        let found: unknown
        for (let at = 0; at < bytes.length && !found; at += size) {
          found = parted.take(bytes.subarray(at, at + size))
        }
        t.same(found ?? parted.end(), whole.take(bytes) ?? whole.end(), text)
        return whole.values === parted.values || found !== undefined
      }),
      { numRuns: 300 },
    )
  })

  t.test('is stopped where it goes beyond a limit', async (t) => {
    const scan = (text: string) => {
      const scanned = new JsonScan({ depth: 2, members: 3, values: 4 })
      return scanned.take(Buffer.from(text))?.kind
    }
    t.equal(scan('[[1,"a"]]'), undefined)
    t.equal(scan('[[1,"a",{}'), 'too deep')
    t.equal(scan('[1,2,true,null'), 'too many values')
    t.equal(scan('{"a":{"b":1,"c":2'), undefined)
    t.equal(scan('[{"a":1,"b":2,"c":3},{"a":'), 'too many values')
    t.equal(scan('{"a":1,"b":2,"c":3,"d'), 'too wide')
    t.equal(scan('{"a":{"b":1,"c":2,"d":3'), 'too many values')
  })

  t.test('shows a member __proto__ however it is written', async (t) => {
    for (const [text, has] of [
      ['{"__proto__":1}', true],
      ['[{"a":{"\\u005f_p\\u0072oto__" :1}}]', true],
      [
        `{"${Array.from('__proto__', (c) => `\\u00${c.charCodeAt(0).toString(16)}`).join('')}":1}`,
        true,
      ],
      ['{"a":"__proto__","__proto":1,"___proto__":2,"\\\\u005f_proto__":3}', false],
    ] as const) {
      const scan = new JsonScan()
      for (const byte of Buffer.from(text)) t.notOk(scan.take(Buffer.from([byte])))
      t.notOk(scan.end())
      t.equal(scan.hasProto, has, text)
    }
  })
})

function parse(text: string, name?: string) {
  const apart = name === undefined ? undefined : { name, max: 4 }
  const pieces = parseInPieces(Buffer.from(text), apart)
  for (;;) {
    const { done, value } = pieces.next()
    if (done) return value as unknown
  }
}
