import { spawnSync } from 'node:child_process'
import { link, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Storage } from '../../jobs/storage.ts'
import { makeFolder, openTestStorage } from '../support/storage.ts'
import { until } from '../support/until.ts'

const AWAY = /^The storage folder /
/** Looks anew each time, with much patience. */
const ANEW = { seenMs: 0, lookMs: 600_000, answerMs: 600_000 }

t.test('a storage folder', async (t) => {
  t.test('leaves no part of a write that fails', async (t) => {
    const { storage, folder } = await openMarked(t)
    async function* broken() {
      yield Buffer.alloc(3 << 20)
      throw new RangeError('the client is gone')
    }
    await t.rejects(storage.write('a/b', broken()), RangeError)
    // A write waits for a second at most until its part is gone.
    await until(async () => (await readdir(join(folder, 'a'))).length === 0)
  })

  t.test('lists what killed processes have left, and nothing that is not its own', async (t) => {
    const { storage, folder } = await openMarked(t)
    await mkdir(join(folder, 'a'))
    const part = 'a/c.4f0c1e9a-7d8e-4d52-9a55-1f2f4a0b7c11.part'
    await writeFile(join(folder, part), '123')
    await writeFile(join(folder, '.hidden'), '')
    t.match(await Array.fromAsync(storage.list()), [{ key: part, bytes: 3, partOf: 'a/c' }])
    await storage.delete(part)
    t.same(await readdir(join(folder, 'a')), [])
  })

  t.test('is away, and is not made anew, once its file system is not mounted', async (t) => {
    const { storage, folder } = await openMarked(t)
    await rename(folder, `${folder}.away`)
    await mkdir(folder)
    t.match(await storage.findFault(), /does not have the mark of this database: it is not mounted/)
    await t.rejects(storage.write('a/b', bytes('lost')), AWAY)
    t.same(await readdir(folder), [])
    await rm(folder, { recursive: true })
    await t.rejects(storage.write('a/b', bytes('lost')), AWAY)
    await t.rejects(readdir(folder), { code: 'ENOENT' })
    await rename(`${folder}.away`, folder)
    t.equal(await storage.findFault(), undefined, 'and works once it is back')
  })

  t.test('is away where a file is in its place', async (t) => {
    const { storage, folder } = await openMarked(t)
    await rename(folder, `${folder}.away`)
    await writeFile(folder, '')
    t.match(await storage.findFault(), /cannot be used: ENOTDIR/)
    await t.rejects(storage.write('a/b', bytes('lost')), AWAY)
  })

  t.test('is away while it is full or read-only, and leaves no part behind', async (t) => {
    const folder = await makeFolder(t)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder])
    if (mounted.status !== 0) return t.pass('mounted', { skip: 'needs the right to mount' })
    t.teardown(() => spawnSync('umount', ['-l', folder]))
    const storage = openTestStorage(folder, ANEW)
    await storage.write('a/b', bytes('small'))
    await t.rejects(storage.write('a/c', zeros(4 << 20)), /ENOSPC/)
    await until(async () => (await readdir(join(folder, 'a'))).join() === 'b')
    await writeFile(join(folder, 'filler'), Buffer.alloc(4 << 20)).catch(() => undefined)
    t.match(await storage.findFault(), /ENOSPC/)
    await storage.delete('filler')
    t.equal(await storage.findFault(), undefined)
    spawnSync('mount', ['-o', 'remount,ro', folder])
    t.match(await storage.findFault(), /EROFS/)
    t.equal(await read(storage, 'a/b'), 'small', 'what it has can be read')
    await t.rejects(storage.write('a/c', bytes('small')), AWAY)
  })

  t.test('that opens a file too late closes it again', async (t) => {
    const folder = await makeFolder(t)
    await openTestStorage(folder, ANEW).write('a/b', bytes('kept'))
    const storage = openTestStorage(folder, { ...ANEW, answerMs: 200 })
    const path = join(folder, 'a/b')
    await rm(path)
    // To open it takes until somebody opens its other end.
    spawnSync('mkfifo', [path])
    const stream = await until(() => storage.read('a/b', { end: 1 }).catch(() => undefined))
    await t.rejects(Array.fromAsync(stream), AWAY)
    const other = await open(path, 'w')
    const hasNoReader = (error: NodeJS.ErrnoException) => error.code === 'EPIPE'
    await until(() => other.write('x').then(() => false, hasNoReader))
    await other.close()
  })

  t.test('that does not answer holds nobody up, and is looked at by one at a time', async (t) => {
    const { folder } = await openMarked(t)
    const [mark, pipe] = [join(folder, '.storage'), `${folder}.pipe`]
    await rm(mark)
    // Who opens it to read waits until somebody opens it to write.
    spawnSync('mkfifo', [mark])
    await link(mark, pipe)
    const storage = openTestStorage(folder, { seenMs: 0, lookMs: 100, answerMs: 50 })
    // Were there a look for each, they would hold all threads of the process.
    for (let i = 0; i < 10; i++) {
      const faults = await Promise.all([1, 2, 3, 4, 5].map(() => storage.findFault()))
      for (const fault of faults) t.match(fault, /does not answer within 100 ms/)
      await t.rejects(storage.write('a/b', bytes('x')), AWAY)
    }
    await rm(mark)
    await writeFile(mark, 'test')
    const writer = await open(pipe, 'w')
    await writer.writeFile('test')
    await writer.close()
    t.equal(await until(() => storage.write('a/b', bytes('x')).catch(() => 0)), 1)
  })
})

/** A folder that a database has used. */
async function openMarked(t: Test) {
  const folder = join(await makeFolder(t), 'storage')
  const storage = openTestStorage(folder, ANEW)
  t.equal(await storage.findFault(), undefined)
  return { folder, storage }
}

async function* zeros(count: number) {
  yield Buffer.alloc(count)
}

async function* bytes(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}

async function read(storage: Storage, key: string) {
  return Buffer.concat(await Array.fromAsync(await storage.read(key))).toString()
}
