import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openReader } from '../../../support/read-upload.ts'

const LINES = Array.from({ length: 1000 }, (_, i) =>
  JSON.stringify({ n: i, text: 'ü'.repeat(i % 97) }),
)
const FILE = LINES.join('\n')

t.test('reading an upload in chunks', async (t) => {
  const { read } = await openReader(t)

  t.test('an aborted run reads no further, not even to where it would begin', async (t) => {
    const aborted = AbortSignal.abort(new Error('told to stop'))
    for (const content of [FILE, gzipSync(FILE)]) {
      const from = { container: 'lines', offset: FILE.length / 2, line: 10 } as const
      await t.rejects(read(content, { from, signal: aborted }), { message: 'told to stop' })
    }
  })

  t.test('every container gives the same records', async (t) => {
    const objects = LINES.map((line) => JSON.parse(line) as object)
    const files = {
      lines: [FILE, `\ufeff${FILE}\n`, FILE.replaceAll('\n', '\r\n\r\n')],
      array: [JSON.stringify(objects), ` \n${JSON.stringify(objects, null, 2)}\n`],
      envelope: [
        JSON.stringify({ traces: objects }),
        JSON.stringify({ project: 'x', n: -1.5e3, ok: true, traces: objects, more: [1] }, null, 2),
      ],
      values: [objects.map((each) => JSON.stringify(each, null, 2)).join('\n')],
    }
    for (const [container, variants] of Object.entries(files)) {
      for (const plain of variants) {
        for (const content of [Buffer.from(plain), gzipSync(plain)]) {
          const found = await read(content)
          t.equal(found.container, container)
          const normal = found.records.map((record) => JSON.stringify(JSON.parse(record)))
          t.strictSame(normal, LINES, container)
          t.strictSame(found.faults, [])
        }
      }
    }
  })

  t.test('from the end of any chunk the rest is read, plain and gzip', async (t) => {
    for (const content of [Buffer.from(FILE), gzipSync(FILE), Buffer.from(`[${LINES.join()}]`)]) {
      const whole = await read(content)
      t.ok(whole.chunks.length > 10)
      let seen = 0
      for (const chunk of whole.chunks.slice(0, -1)) {
        seen += chunk.ends.length
        const rest = await read(content, {
          from: { ...chunk.next, container: chunk.container },
        })
        t.strictSame(rest.records, LINES.slice(seen))
        t.equal(rest.chunks.at(-1)?.next.line, LINES.length)
      }
    }
  })

  t.test('gzip that ends early or is damaged gives what came before', async (t) => {
    const zipped = gzipSync(FILE)
    for (const keep of [0.9, 0.5]) {
      const found = await read(zipped.subarray(0, zipped.length * keep))
      const n = found.records.length
      t.ok(n > 100 && n < LINES.length, `${n} records`)
      t.strictSame(found.records, LINES.slice(0, n))
      t.strictSame(found.faults, [[n + 1, 'truncated']])
    }
    const damaged = gzipSync(`${FILE}\n`)
    damaged.fill(0, damaged.length - 8)
    const found = await read(damaged)
    const seen = found.records.length
    t.ok(seen > 100 && seen < LINES.length, `${seen} records`)
    t.strictSame(found.records, LINES.slice(0, seen))
    t.strictSame(found.faults, [[seen + 1, 'damaged_gzip']])
    t.match((await read(zipped.subarray(0, 9))).faults, [[1, 'truncated']])
  })

  t.test('several gzip members are one file', async (t) => {
    const halves = [LINES.slice(0, 500), LINES.slice(500)].map((half) =>
      gzipSync(`${half.join('\n')}\n`),
    )
    t.strictSame((await read(Buffer.concat(halves))).records, LINES)
  })

  t.test('what is no text is one fault', async (t) => {
    t.strictSame((await read(gzipSync(gzipSync(FILE)))).faults, [[1, 'nested_gzip']])
    const binary = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256))
    const utf16 = Buffer.from(`\ufeff${FILE}`, 'utf16le')
    for (const content of [binary, utf16]) {
      const found = await read(content)
      t.strictSame(found.faults, [[1, 'not_text']])
      t.strictSame(found.records, [])
    }
  })

  t.test('a file of several reads gives its records, whose memory is used again', async (t) => {
    const objects = Array.from({ length: 40_000 }, (_, n) => ({
      n,
      text: String(n).repeat(n % 50),
    }))
    const lines = objects.map((each) => JSON.stringify(each))
    const envelope = JSON.stringify({ traces: objects })
    const files = {
      lines: [lines.join('\n'), `\n${lines.join('\n')}`],
      values: [objects.map((each) => JSON.stringify(each, null, 2)).join('')],
      array: [JSON.stringify(objects)],
      envelope: [envelope, `${envelope}\n${' '.repeat(2 << 20)}${envelope}`],
    }
    for (const [container, variants] of Object.entries(files)) {
      for (const [i, content] of variants.entries()) {
        t.ok(content.length > 4 << 20)
        const found = await read(content, { chunkBytes: 1 << 20 })
        t.equal(found.container, container)
        const copies = container === 'envelope' ? i + 1 : 1
        t.equal(found.records.length, copies * lines.length)
        const differs = found.records.findIndex(
          (record, i) => JSON.stringify(JSON.parse(record)) !== lines[i % lines.length],
        )
        t.equal(differs, -1, container)
      }
    }
  })

  t.test('an empty file has one empty chunk', async (t) => {
    for (const content of ['', '\n \n', '[]', gzipSync('')]) {
      const { chunks, records, faults } = await read(content)
      t.match(chunks, [{ isLast: true }])
      t.strictSame([records, faults], [[], []])
    }
  })

  t.test('a bomb is read in little memory', async (t) => {
    const zeros = gzipSync(Buffer.alloc(100 << 20))
    t.ok(zeros.length < 1 << 20)
    const before = process.memoryUsage().rss
    const found = await read(Buffer.concat([gzipSync('{"a":'), zeros, gzipSync('}\n{"b":1}\n')]), {
      chunkBytes: 1 << 20,
    })
    t.strictSame(found.faults, [[1, 'too_long']])
    t.strictSame(found.records, ['{"b":1}'])
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    t.ok(grown < 200, `${Math.round(grown)} MiB more`)
  })

  t.test('empty lines and short ones fill chunks too', async (t) => {
    const blank = await read('\n'.repeat(3_000_000), { chunkBytes: 1 << 20 })
    t.equal(blank.chunks.length, 3)
    t.equal(blank.chunks.at(-1)?.next.line, 3_000_000)
    const short = await read('x\n'.repeat(100_000), { chunkBytes: 1 << 20 })
    t.ok(short.chunks.every(({ ends }) => ends.length <= 10_000))
  })
})
