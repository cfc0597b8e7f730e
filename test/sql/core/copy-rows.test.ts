import t from 'tap'
import { openRowWriter } from '../../../sql/core/copy-rows.ts'

t.test('rows are the same whatever size was expected', (t) => {
  const [exact, ...others] = [undefined, 0, 1, 1 << 20].map((expectedBytes) => {
    const writer = openRowWriter(expectedBytes)
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

t.test('no rows are no bytes, and their memory can go to another thread', (t) => {
  const { bytes, ends } = openRowWriter(0).take()
  t.same(ends, [])
  const moved = structuredClone(bytes, { transfer: [bytes.buffer] })
  t.equal(moved.length, 0)
  t.end()
})
