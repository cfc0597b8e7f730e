import { gzipSync } from 'node:zlib'
import t from 'tap'
import fc from '../../../support/property.ts'
import { openReader } from '../../../support/read-upload.ts'

const format = 'langfuse'

/** A file as exporters write it: everything is quoted. */
function csvOf(rows: readonly (readonly string[])[], end = '\n') {
  return rows
    .map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',') + end)
    .join('')
}

t.test('reading CSV', async (t) => {
  const { read, readFromEverywhere } = await openReader(t)

  t.test('each row is a record of texts by the names of the columns', async (t) => {
    const rows = [
      ['id', 'input', '__proto__'],
      ['t1', '{"a": "b, c"}', 'x'],
      ['t2', 'two\nlines and a "quote"', ''],
    ]
    const expected = [
      '{"id":"t1","input":"{\\"a\\": \\"b, c\\"}","__proto__":"x"}',
      '{"id":"t2","input":"two\\nlines and a \\"quote\\"","__proto__":""}',
    ]
    const plain = csvOf(rows)
    for (const text of [plain, csvOf(rows, '\r\n'), `\ufeff${plain}`, plain.slice(0, -1)]) {
      for (const content of [text, gzipSync(text)]) {
        const found = await read(content, { format })
        t.equal(found.container, 'csv')
        t.strictSame([found.records, found.lines, found.faults], [expected, [1, 2], []])
      }
    }
    t.strictSame((await read('id,n\nt1,5\n\nt2,6\n', { format })).records, [
      '{"id":"t1","n":"5"}',
      '{"id":"t2","n":"6"}',
    ])
  })

  t.test('text is CSV only where that is asked for, and has the header of an export', async (t) => {
    const text = csvOf([['id'], ['t1']])
    t.equal((await read(text)).container, 'lines')
    t.equal((await read('Read me, please\n', { format })).container, 'lines')
    t.equal((await read('{"id": "t1", "name": "id,x"}\n', { format })).container, 'lines')
  })

  t.test('any cells come back, and reading goes on from the end of any chunk', async (t) => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', '"', '""', ',', '\n', '\r\n', '\ufeff', '{"a":[1]}'),
    )
    const table = fc.array(fc.tuple(cell, cell, cell), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(table, fc.constantFrom('\n', '\r\n'), async (rows, end) => {
        const file = csvOf([['id', 'a b', '"'], ...rows], end)
        const found = await readFromEverywhere(t, file, { format, chunkBytes: 1 })
        const cells = found.records.map((each) => Object.values(JSON.parse(each) as object))
        t.strictSame(cells, rows)
      }),
      { numRuns: 40 },
    )
  })

  t.test('a bad row costs only itself', async (t) => {
    const found = await read(
      Buffer.concat([
        Buffer.from(`id,name\nt1,${'a'.repeat(70_000)}\nt2\nt3,b,c\nt4,"d"e"\nt5,f\nt6,`),
        Buffer.from([0xff, 0x0a]),
        Buffer.from('t7,g\n'),
      ]),
      { format },
    )
    t.strictSame(found.lines, [1, 5, 7])
    t.strictSame(found.faults, [
      [2, 'ragged_row'],
      [3, 'ragged_row'],
      [4, 'invalid_csv'],
      [6, 'invalid_utf8'],
    ])
    t.equal(found.messages[1], 'The row has 3 cells, and the header has 2')
  })

  t.test('a row that is too long costs only itself, in little memory', async (t) => {
    const long = csvOf([['t2', 'x'.repeat(40 << 20)]])
    const found = await read(`id,text\nt1,a\n${long}t3,b\n`, { format })
    t.strictSame([found.lines, found.faults], [[1, 3], [[2, 'too_long']]])
    const controls = csvOf([['t2', '\u0001'.repeat(3 << 20)]])
    t.strictSame((await read(`id,text\n${controls}`, { format })).faults, [[1, 'too_long']])
    const mebibyte = gzipSync(Buffer.alloc(1 << 20, 'x'))
    const endless = Buffer.concat([gzipSync('id\n"'), ...Array<Buffer>(200).fill(mebibyte)])
    const before = process.memoryUsage().rss
    t.match(await read(endless, { format }), { faults: [[1, 'truncated']], broken: 'truncated' })
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    t.ok(grown < 250, `${Math.round(grown)} MiB more`)
  })

  t.test('a row of millions of cells is counted and not parsed', async (t) => {
    const commas = ','.repeat(8 << 20)
    const found = await read(`id,text\nt1,a\nt2${commas}\nt3,b\n`, { format })
    t.strictSame([found.lines, found.faults], [[1, 3], [[2, 'ragged_row']]])
    t.equal(found.messages[0], 'The row has more than 1000 cells')
    const quoted = await read(`id,text\nt1,"${commas}"\n`, { format })
    t.match(quoted, { lines: [1], faults: [] })
    t.strictSame(JSON.parse(quoted.records[0] ?? ''), { id: 't1', text: commas })
    const header = await read(`id${commas}\nt1\n`, { format })
    t.match(header, { broken: 'csv_header', messages: [/more than 1000 columns/] })
  })

  t.test('a file that ends early gives the rows before', async (t) => {
    const file = csvOf([['id', 'text'], ...Array.from({ length: 200 }, (_, i) => [`t${i}`, 'a b'])])
    const found = await read(file.slice(0, -3), { format })
    t.match(found, { faults: [[200, 'truncated']], broken: 'truncated' })
    t.equal(found.records.length, 199)
    const zipped = gzipSync(file)
    const cut = await read(zipped.subarray(0, zipped.length * 0.8), { format })
    t.ok(cut.records.length > 0 && cut.records.length < 200)
    t.equal(cut.broken, 'truncated')
  })

  t.test('a header that cannot name members is one fault', async (t) => {
    const wide = Array.from({ length: 1000 }, (_, i) => `c${i}`)
    const headers = ['id,name,name', ['id', ...wide].join(',')]
    for (const header of headers) {
      t.match(await read(`${header}\nt1,a,b\n`, { format }), {
        records: [],
        faults: [[1, 'csv_header']],
        broken: 'csv_header',
      })
    }
    t.equal((await read('id,name,name\n', { format })).messages[0], TWICE)
  })
})

const TWICE = 'The CSV has more than one column "name"'
