import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { access, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Storage } from '../../jobs/storage.ts'
import { BUCKET, PREFIX } from '../support/s3.ts'
import { makeFolder, openTestS3, openTestStorage } from '../support/storage.ts'
import { until } from '../support/until.ts'

// What every storage keeps to.
for (const [kind, open] of Object.entries({ folder: openInFolder, bucket: openInBucket })) {
  t.test(`a storage in a ${kind}`, async (t) => {
    t.test('has a file whole or not at all', async (t) => {
      const { storage } = await open(t)
      async function* broken() {
        yield randomBytes(PART_BYTES * 2 + 1)
        throw new RangeError('the client is gone')
      }
      await t.rejects(storage.write('a/b', broken()), RangeError)
      await t.rejects(storage.measure('a/b'), MISSING)
      // A write waits for a second at most until nothing is left of it.
      await until(async () => (await Array.fromAsync(storage.list())).length === 0)
      await t.rejects(storage.write('../b', bytes('')), TypeError)
    })

    t.test('gives back what was written, of any size and in any pieces', async (t) => {
      const { storage } = await open(t)
      const sizes = [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, PART_BYTES * 2.5]
      for (const size of sizes) {
        const content = randomBytes(size)
        const pieceBytes = [999_983, 64 << 10, 20 << 20][size % 3] as number
        t.equal(await storage.write('a/b', pieces(content, pieceBytes)), size)
        t.equal(await storage.measure('a/b'), size)
        t.equal(hash(await read(storage, 'a/b')), hash(content), `${size} bytes`)
      }
    })

    t.test('reads ranges, which may end after the file does', async (t) => {
      const { storage } = await open(t)
      t.equal(await storage.write('a/b', bytes('first, ', 'second')), 13)
      const text = async (range: Parameters<Storage['read']>[1]) =>
        (await read(storage, 'a/b', range)).toString()
      t.equal(await text({ start: 2, end: 9 }), 'rst, se')
      t.equal(await text({ start: 7 }), 'second')
      t.equal(await text({ end: 5 }), 'first')
      t.equal(await text({ start: 12, end: 100 }), 'd')
      t.equal(await text({ start: 13 }), '')
      t.equal(await text({ start: 3, end: 3 }), '')
    })

    t.test('lists its files and what belongs to writes under way, and deletes both', async (t) => {
      const { storage } = await open(t)
      await storage.write('a/b', bytes('12345'))
      const goOn = Promise.withResolvers<void>()
      async function* slow() {
        yield Buffer.alloc(PART_BYTES + (1 << 20))
        await goOn.promise
        yield Buffer.alloc(1)
      }
      const writing = storage.write('a/c', slow())
      writing.catch(() => undefined)
      const part = await until(async () => {
        const listed = await Array.fromAsync(storage.list())
        return listed.find(({ partOf, bytes }) => partOf === 'a/c' && bytes > 0)
      })
      t.match(part.key, /^a\/c\./)
      t.ok(Math.abs(part.changedAt.getTime() - Date.now()) < 60_000)
      await storage.delete(part.key)
      goOn.resolve()
      await t.rejects(writing, AWAY, 'it cannot come to its end any more')
      t.match(await Array.fromAsync(storage.list()), [{ key: 'a/b', bytes: 5, partOf: undefined }])
      await storage.delete('a/b')
      await storage.delete('a/b')
      t.same(await Array.fromAsync(storage.list()), [])
    })

    t.test('lets nobody see a file before it is whole', async (t) => {
      const { storage } = await open(t)
      const goOn = Promise.withResolvers<void>()
      async function* slow() {
        yield Buffer.alloc(PART_BYTES + 1)
        await goOn.promise
      }
      const writing = storage.write('a/b', slow())
      await until(async () => (await Array.fromAsync(storage.list())).length === 1)
      await t.rejects(storage.measure('a/b'), MISSING)
      await t.rejects(storage.read('a/b'), MISSING)
      goOn.resolve()
      t.equal(await writing, PART_BYTES + 1)
      t.equal(await storage.measure('a/b'), PART_BYTES + 1)
    })

    t.test('deletes no file that was changed after it was looked at', async (t) => {
      const { storage } = await open(t)
      await storage.write('a/b', bytes('12345'))
      const [{ changedAt } = { changedAt: new Date() }] = await Array.fromAsync(storage.list())
      t.equal(await storage.delete('a/b', new Date(changedAt.getTime() - 2000)), false)
      t.equal(await storage.measure('a/b'), 5)
      t.equal(await storage.delete('a/b', changedAt), true)
      t.equal(await storage.delete('a/b', changedAt), false)
      await t.rejects(storage.measure('a/b'), MISSING)
    })

    t.test('adopts a local file, once or again, also when many do so at once', async (t) => {
      const { storage } = await open(t)
      const folder = await makeFolder(t)
      for (const size of [0, 5, PART_BYTES * 2 + 5]) {
        const content = randomBytes(size)
        const local = async () => {
          const path = join(folder, randomUUID())
          await writeFile(path, content)
          return path
        }
        const adopt = async () => {
          const path = await local()
          await storage.adopt(`a/${size}`, path)
          await t.rejects(access(path), { code: 'ENOENT' }, 'it was moved')
        }
        await Promise.all([adopt(), adopt(), adopt()])
        await adopt()
        t.equal(hash(await read(storage, `a/${size}`)), hash(content))
      }
      t.equal((await Array.fromAsync(storage.list())).length, 3)
      await t.rejects(storage.adopt('a/5', join(folder, 'missing')), { code: 'ENOENT' })
    })

    t.test('adopts a file in the place of one that was damaged', async (t) => {
      const { storage } = await open(t)
      const path = join(await makeFolder(t), 'file')
      await storage.write('a/b', bytes('12'))
      await writeFile(path, '12345')
      await storage.adopt('a/b', path)
      t.equal((await read(storage, 'a/b')).toString(), '12345')
    })

    t.test('is examined without a trace', async (t) => {
      const { storage } = await open(t)
      await storage.write('a/b', bytes('kept'))
      const before = await Array.fromAsync(storage.list())
      await storage.examine()
      t.same(await Array.fromAsync(storage.list()), before)
    })

    t.test('tells a missing file from a storage that is away', async (t) => {
      const { storage, takeAway } = await open(t)
      t.equal(await storage.findFault(), undefined)
      await t.rejects(storage.read('a/b'), MISSING)
      await storage.delete('a/b')
      const giveBack = await takeAway()
      t.match(await storage.findFault(), AWAY)
      await t.rejects(storage.read('a/b'), AWAY)
      await t.rejects(storage.measure('a/b'), AWAY)
      await t.rejects(storage.delete('a/b'), AWAY)
      await t.rejects(storage.write('a/b', bytes('lost')), AWAY)
      await t.rejects(Array.fromAsync(storage.list()), AWAY)
      await giveBack()
      t.equal(await storage.findFault(), undefined)
      t.equal(await storage.write('a/b', bytes('kept')), 4)
    })

    t.test('is not one that another database uses', async (t) => {
      const { storage, openAs, readMark } = await open(t)
      await storage.write('a/b', bytes('mine'))
      const others = openAs('another')
      t.match(
        await others.findFault(),
        /belongs to another one\. If it is the right one: echo another /,
      )
      const uses: Promise<unknown>[] = [
        others.read('a/b'),
        others.delete('a/b'),
        others.write('a/c', bytes('')),
      ]
      for (const use of uses) await t.rejects(use, AWAY)
      t.equal(await readMark(), 'test\n', 'it is not taken over')
      t.equal((await read(storage, 'a/b')).toString(), 'mine')
      t.equal(await openAs('test').measure('a/b'), 4, 'another process may')
    })

    t.test('is marked by many processes at once', async (t) => {
      const { openAs } = await open(t)
      const found = await Promise.all(Array.from({ length: 10 }, () => openAs('test').findFault()))
      t.same(new Set(found), new Set([undefined]))
    })

    t.test('reads no more than is taken, and lets go when its reader does', async (t) => {
      const { storage } = await open(t)
      await storage.write('a/b', pieces(Buffer.alloc(PART_BYTES * 4), 1 << 20))
      const stream = await storage.read('a/b')
      for await (const _ of stream) break
      t.equal(stream.destroyed, true)
    })
  })
}

/** Looks anew each time, with much patience. */
const ANEW = { seenMs: 0, lookMs: 600_000, answerMs: 600_000 }
const AWAY = /The storage /
const MISSING = /^There is no stored file /
/** Of what S3 is sent at a time. */
const PART_BYTES = 5 << 20

interface Opened {
  readonly storage: Storage
  /** As another process does, of a database of this name. */
  openAs(id: string): Storage
  takeAway(): Promise<() => Promise<void>>
  readMark(): Promise<string>
}

async function openInFolder(t: Test): Promise<Opened> {
  const folder = join(await makeFolder(t), 'storage')
  return {
    storage: openTestStorage(folder, ANEW),
    openAs: (id) => openTestStorage(folder, ANEW, id),
    async takeAway() {
      await rename(folder, `${folder}.away`)
      return () => rename(`${folder}.away`, folder)
    },
    readMark: () => readFile(join(folder, '.storage'), 'utf8'),
  }
}

async function openInBucket(t: Test): Promise<Opened> {
  // Lists have several pages.
  const { storage, openAs, s3 } = await openTestS3(t, ANEW, { pageSize: 2 })
  return {
    storage,
    openAs,
    async takeAway() {
      const objects = s3.objects()
      s3.buckets.delete(BUCKET)
      return async () => void s3.buckets.set(BUCKET, objects)
    },
    readMark: async () => String(s3.objects().get(`${PREFIX}/.storage`)?.bytes),
  }
}

async function* bytes(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}

async function* pieces(content: Buffer, pieceBytes: number) {
  for (let at = 0; at < content.length; at += pieceBytes)
    yield content.subarray(at, at + pieceBytes)
}

async function read(storage: Storage, key: string, range?: Parameters<Storage['read']>[1]) {
  return Buffer.concat(await Array.fromAsync(await storage.read(key, range)))
}

function hash(content: Buffer) {
  return createHash('sha256').update(content).digest('hex')
}
