import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { Storage } from '../../../../jobs/storage.ts'
import { StoredBlob } from '../../../../workers/datasets/hub/stored-blob.ts'

const BYTES = randomBytes(1000)

t.test('a stored file as a blob', async (t) => {
  const read = async (_: string, { start = 0, end = 0 } = {}) =>
    Readable.from([BYTES.subarray(start, end)])
  const blob = new StoredBlob({ read } as Storage, 'k', { start: 0, end: BYTES.length })

  t.test('is read as a stream and whole', async (t) => {
    t.equal(blob.size, BYTES.length)
    t.same(await buffer(blob.stream()), BYTES)
    t.same(Buffer.from(await blob.arrayBuffer()), BYTES)
    t.ok(blob instanceof Blob)
  })

  t.test('is sliced as blobs are, slices too', async (t) => {
    const plain = new Blob([BYTES])
    for (const [from, to] of [[0, 10], [10, 10], [990, 2000], [2000, 3000], [5], []] as const) {
      const slice = blob.slice(from, to)
      const expected = await plain.slice(from, to).arrayBuffer()
      t.equal(slice.size, expected.byteLength)
      t.same(Buffer.from(await slice.arrayBuffer()), Buffer.from(expected))
    }
    const inner = blob.slice(100, 200).slice(10, 500)
    t.same(await buffer(inner.stream()), BYTES.subarray(110, 200))
  })

  t.test('that is large is not read whole', async (t) => {
    const large = new StoredBlob({ read } as Storage, 'k', { start: 0, end: 1 << 30 })
    await t.rejects(large.arrayBuffer(), RangeError)
  })

  t.test('is read as its reader asks', async (t) => {
    let given = 0
    async function* endless() {
      for (;;) {
        given++
        yield Buffer.alloc(64 << 10)
      }
    }
    const storage = { read: async () => Readable.from(endless()) } as unknown as Storage
    const reader = new StoredBlob(storage, 'k', { start: 0, end: 1 << 30 }).stream().getReader()
    let ahead = 0
    for (let taken = 1; taken <= 1000; taken++) {
      await reader.read()
      ahead = Math.max(ahead, given - taken)
    }
    await reader.cancel()
    t.ok(ahead < 50, `${ahead} pieces were read ahead`)
  })

  t.test('fails as its storage does', async (t) => {
    const away = new Error('away')
    const storage = { read: () => Promise.reject(away) } as unknown as Storage
    const lost = new StoredBlob(storage, 'k', { start: 0, end: 10 })
    await t.rejects(lost.arrayBuffer(), away)
    await t.rejects(buffer(lost.stream()), away)
  })
})
