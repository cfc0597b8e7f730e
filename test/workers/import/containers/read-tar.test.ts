import { setTimeout } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import t from 'tap'
import { readEntries } from '../../../../workers/import/containers/tar-entries.ts'
import { openReader } from '../../../support/read-upload.ts'

type Entry = readonly [name: string, content: string | Buffer]

async function tarOf(entries: readonly Entry[], folders: readonly string[] = []) {
  const archive = pack()
  for (const name of folders) archive.entry({ name, type: 'directory' })
  for (const [name, content] of entries) archive.entry({ name }, content)
  archive.finalize()
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>))
}

const line = (n: number) => JSON.stringify({ agent_name: 'a', n })
const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => line(from + i)).join('\n')

t.test('reading archives', async (t) => {
  const { read, readFromEverywhere } = await openReader(t)

  t.test('entries are read in their order, each in its own container', async (t) => {
    const entries: Entry[] = [
      ['a/lines.jsonl', linesOf(0, 300)],
      ['b.json.gz', gzipSync(`[${line(300)}, ${line(301)}]`)],
      ['c/page 1.json', JSON.stringify({ data: [{ n: 302 }, { n: 303 }], meta: {} })],
      ['d.json', JSON.stringify({ agent_name: 'a', n: 304 }, null, 2)],
      [`${'long/'.repeat(60)}e.jsonl`, linesOf(305, 600)],
    ]
    const plain = await tarOf(entries, ['a', 'c'])
    for (const content of [plain, gzipSync(plain)]) {
      const found = await readFromEverywhere(t, content, { chunkBytes: 2000 })
      t.equal(found.container, 'tar')
      const numbers = found.records.map((each) => (JSON.parse(each) as { n: number }).n)
      t.strictSame(
        numbers,
        Array.from({ length: 600 }, (_, n) => n),
      )
      t.strictSame(
        found.lines,
        numbers.map((n) => n + 1),
      )
      t.match(found, { faults: [], losses: { entries_skipped: 2 }, broken: undefined })
      t.ok(found.chunks.length > 5)
    }
  })

  t.test('what holds no records is skipped and counted', async (t) => {
    const archive = await tarOf(
      [
        ['README.md', '# Export, with an id\nof everything'],
        ['manifest.json', '{"table": "traces", "row_count": 1}'],
        ['empty.jsonl', ''],
        ['photo.png', Buffer.from(Array.from({ length: 999 }, (_, i) => (i * 7919) % 256))],
        ['._traces.jsonl', Buffer.alloc(100)],
        ['traces.jsonl', line(1)],
        ['pages.jsonl', '{"unknown": 1}\n{"unknown": 2}'],
      ],
      ['folder'],
    )
    const found = await read(archive, { format: 'langfuse' })
    t.match(found, { losses: { entries_skipped: 6 }, broken: undefined })
    t.strictSame(found.records, [line(1), '{"unknown": 1}', '{"unknown": 2}'])
  })

  t.test(
    'a fault of an entry names it, costs only it, and fails the archive in the end',
    async (t) => {
      const name = 'a "b"\n\u202e.json'
      const archive = await tarOf([
        ['1.jsonl', linesOf(0, 2)],
        [name, `[${line(2)}, {"n":`],
        ['3.gz', gzipSync(linesOf(0, 3000)).subarray(0, 60)],
        ['4.tar', await tarOf([['x', line(9)]])],
        ['5.csv', 'id,id\n1,2\n'],
        ['6.jsonl', `${line(3)}\n`],
      ])
      const found = await read(archive, { format: 'langfuse' })
      t.strictSame(found.records, [0, 1, 2, 3].map(line))
      t.strictSame(found.lines, [1, 2, 3, 8])
      t.strictSame(found.faults, [
        [4, 'truncated'],
        [5, 'truncated'],
        [6, 'nested_tar'],
        [7, 'csv_header'],
        [9, 'damaged_entries'],
      ])
      const shown = 'a \ufffdb\ufffd\ufffd\ufffd.json'
      t.equal(found.messages[0], `entry "${shown}": The file ends before its JSON does`)
      t.equal(found.messages[2]?.slice(0, 14), 'entry "4.tar":')
      t.equal(
        found.messages[4],
        `4 entries cannot be read to their end; the first is entry "${shown}": The file ends before its JSON does`,
      )
    },
  )

  t.test('an archive that ends early gives what came before', async (t) => {
    const archive = await tarOf([
      ['1.jsonl', linesOf(0, 3000)],
      ['2.jsonl', linesOf(3000, 3010)],
    ])
    const zipped = gzipSync(archive)
    for (const content of [
      archive.subarray(0, 50_000),
      archive.subarray(0, 50_001),
      zipped.subarray(0, zipped.length / 2),
    ]) {
      const found = await read(content)
      const whole = found.records.slice(0, -1)
      t.ok(whole.length > 500 && whole.length < 3000, `${whole.length} records`)
      t.strictSame(whole, linesOf(0, whole.length).split('\n'))
      t.equal(found.broken, 'truncated')
    }
    const first = 512 + Math.ceil(linesOf(0, 3000).length / 512) * 512
    t.match(await read(archive.subarray(0, first + 100)), { broken: 'truncated' })
    t.equal((await read(archive.subarray(0, first + 100))).records.length, 3000)
    const between = await read(archive.subarray(0, first))
    t.match(between, { broken: 'truncated', faults: [[3001, 'truncated']] })
    t.equal(between.records.length, 3000)
    const damaged = Buffer.from(archive)
    damaged.fill('x', first, first + 100)
    const found = await read(damaged)
    t.equal(found.records.length, 3000)
    t.match(found, { broken: 'damaged_tar', messages: [/after 1 of its entries/] })
  })

  t.test('more entries than an export has end the archive', async (t) => {
    const [empty] = [(await tarOf([['x', '']])).subarray(0, 512)]
    const zipped = gzipSync(Buffer.concat(Array.from({ length: 200_000 }, () => empty as Buffer)))
    const found = await read(zipped, { chunkBytes: 1 << 20 })
    t.match(found, { losses: { entries_skipped: 100_000 }, broken: 'too_many_entries' })
  })

  t.test('one that is left while its source is read ends', async (t) => {
    const archive = await tarOf([['1.jsonl', linesOf(0, 3000)]])
    async function* source() {
      yield archive.subarray(0, 2048)
      await setTimeout(50)
      yield archive.subarray(2048)
    }
    for await (const { bytes } of readEntries(source())) {
      for await (const _ of bytes) break
      break
    }
    t.pass('and waits for nothing that does not come')
  })

  t.test('an aborted run reads no further', async (t) => {
    const archive = await tarOf([['1.jsonl', linesOf(0, 3000)]])
    const signal = AbortSignal.abort(new Error('told to stop'))
    for (const content of [archive, gzipSync(archive)]) {
      await t.rejects(read(content, { signal }), { message: 'told to stop' })
    }
  })

  t.test('what all entries inflate to is bounded together, in little memory', async (t) => {
    const bomb = gzipSync(Buffer.alloc(100 << 20))
    const before = process.memoryUsage().rss
    const found = await read(await tarOf(Array.from({ length: 5 }, (_, i) => [`${i}.gz`, bomb])))
    t.match(found, { losses: { entries_skipped: 5 }, records: [] })
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    t.ok(grown < 200, `${Math.round(grown)} MiB more`)
    t.equal(gunzipSync(bomb).length, 100 << 20)
  })
})
