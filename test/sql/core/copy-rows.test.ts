import t from 'tap'
import { openRowWriter } from '../../../sql/core/copy-rows.ts'

t.test('rows are the same whatever memory they are written into', (t) => {
  const memories = [
    undefined,
    new ArrayBuffer(0),
    new ArrayBuffer(1),
    Buffer.alloc(1 << 20, 'x').buffer,
    new SharedArrayBuffer(1000),
    new SharedArrayBuffer(1 << 20),
  ]
  const [exact, ...others] = memories.map((memory) => {
    const writer = openRowWriter(memory)
    for (const text of ['', 'short', 'ä'.repeat(100_000)]) {
      writer.row([
        ['text', text],
        ['bytea', Buffer.from(text)],
        ['int4', null],
      ])
    }
    const { bytes, ends } = writer.take()
    return { bytes: Buffer.from(bytes), ends }
  })
  t.equal(exact?.ends.at(-1), exact?.bytes.length)
  for (const other of others) t.same(other, exact)
  t.end()
})

t.test('no rows are no bytes, and memory that is too small stays as it is', (t) => {
  const { bytes, ends } = openRowWriter(new ArrayBuffer(0)).take()
  t.same(ends, [])
  t.equal(bytes.length, 0)
  const small = new SharedArrayBuffer(10)
  const writer = openRowWriter(small)
  writer.row([['text', 'longer than ten bytes']])
  t.not(writer.take().bytes.buffer, small)
  t.end()
})
