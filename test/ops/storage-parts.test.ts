import { createHash, randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { spoolParts } from '../../ops/storage/parts.ts'
import { makeFolder } from '../support/storage.ts'

const CONTENT = randomBytes((11 << 20) + 7)

t.test('parts of a stream are whole where the disk takes less than it is given', async (t) => {
  const handle = await prototypeOf(await makeFolder(t))
  const whole = handle.write as (...args: unknown[]) => unknown
  t.intercept(handle, 'write', {
    value(this: FileHandle, bytes: Buffer, from: number, length: number, at: number) {
      return whole.call(this, bytes, from, Math.min(length, 100_003), at)
    },
  })
  t.intercept(handle, 'writev', {
    value(this: FileHandle, [first]: Buffer[], at: number) {
      return whole.call(this, first, 0, Math.min(first?.length ?? 0, 100_003), at)
    },
  })
  t.equal(await hashOfParts(pieces(300_000), await makeFolder(t)), hash(CONTENT))
})

t.test('parts of a stream fail where the disk takes nothing', async (t) => {
  const handle = await prototypeOf(await makeFolder(t))
  const value = async () => ({ bytesWritten: 0 })
  t.intercept(handle, 'write', { value })
  t.intercept(handle, 'writev', { value })
  const hashing = hashOfParts(pieces(300_000), await makeFolder(t))
  await t.rejects(hashing, /The scratch folder .* cannot be used: it takes no more/)
})

t.test('parts of a stream hold no bytes of those that brought them', async (t) => {
  const same = Buffer.alloc(1000)
  async function* reused() {
    for await (const piece of pieces(same.length)) {
      same.set(piece)
      yield same.subarray(0, piece.length)
    }
  }
  t.equal(await hashOfParts(reused(), await makeFolder(t)), hash(CONTENT))
})

async function hashOfParts(source: AsyncIterable<Uint8Array>, folder: string) {
  const sum = createHash('sha256')
  const buffer = Buffer.alloc(5 << 20)
  for await (const part of spoolParts(source, folder)) sum.update(await part.read(buffer))
  return sum.digest('hex')
}

async function* pieces(size: number) {
  for (let at = 0; at < CONTENT.length; at += size) yield CONTENT.subarray(at, at + size)
}

function hash(content: Buffer) {
  return createHash('sha256').update(content).digest('hex')
}

async function prototypeOf(folder: string) {
  const file = await open(join(folder, 'file'), 'w')
  await file.close()
  return Object.getPrototypeOf(file) as FileHandle
}
