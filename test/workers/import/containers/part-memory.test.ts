import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Storage } from '../../../../jobs/storage.ts'
import { openUpload } from '../../../../workers/import/containers/open-upload.ts'
import { openPartMemory } from '../../../../workers/import/containers/part-memory.ts'
import { readChunks } from '../../../../workers/import/containers/read-chunks.ts'
import { openTestStorage } from '../../../support/storage.ts'

t.test('memory is used again once it is free, and not before', async (t) => {
  const { allocate, free } = openPartMemory()
  const [one, other] = [allocate(100), allocate(100)]
  t.not(one.buffer, other.buffer)
  free(one.subarray(10))
  t.equal(allocate(50).buffer, one.buffer)
  free(other)
  t.not(allocate(101).buffer, other.buffer, 'too small')
  t.equal(allocate(100).buffer, other.buffer)
  free(Buffer.alloc(1000))
  t.not(allocate(1).buffer.byteLength, 1000, 'memory of others')
})

t.test('a file of lines is read into the memory of a few parts', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-parts-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'upload'), `{"text":"${'x'.repeat(5000)}"}\n`.repeat(2000))
  const storage = openTestStorage(folder)
  const used: ArrayBufferLike[] = []
  const watched: Storage = {
    ...storage,
    read: (key, { allocate = Buffer.alloc, ...range } = {}) =>
      storage.read(key, {
        ...range,
        allocate(bytes) {
          const part = allocate(bytes)
          used.push(part.buffer)
          return part
        },
      }),
  }
  const reading = {
    format: null,
    signal: new AbortController().signal,
    makeScratchFolder: async () => folder,
  }
  for (const from of [undefined, { container: 'lines', offset: 0, line: 0 } as const]) {
    used.length = 0
    const upload = await openUpload(watched, 'upload', from, reading)
    const chunks = await Array.fromAsync(readChunks(upload, from, 1 << 20))
    t.equal(chunks.flatMap(({ ends }) => ends).length, 2000)
    t.ok(used.length >= 10)
    t.ok(new Set(used).size <= 3, `memory of ${new Set(used).size} parts`)
  }
})
