import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Storage } from '../../jobs/storage.ts'
import { PREFIX } from '../support/s3.ts'
import type { S3Interference, TestS3 } from '../support/s3.ts'
import { makeFolder, openTestS3 } from '../support/storage.ts'
import { until } from '../support/until.ts'

/** Looks anew each time, with much patience. */
const ANEW = { seenMs: 0, lookMs: 600_000, answerMs: 600_000 }
/** Of one that soon loses its patience. */
const HASTY = { seenMs: 0, lookMs: 2000, answerMs: 1500 }
const AWAY = /The storage /
const PART_BYTES = 5 << 20

t.test('a read whose connection breaks', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  const content = randomBytes(3 << 20)
  await storage.write('a/b', streamOf(content))

  t.test('goes on from there with the same object, as often as it gets on', async (t) => {
    s3.calls.length = 0
    s3.interfere = onGet({ cutAfter: 400_000 })
    t.equal(hash(await read(storage, 'a/b')), hash(content))
    t.equal(
      hash(await read(storage, 'a/b', { start: 5, end: 2_000_000 })),
      hash(content.subarray(5, 2_000_000)),
    )
    const gets = s3.calls.filter(isGet)
    t.ok(gets.length > 8, `${gets.length} requests`)
    const { etag } = s3.objects().get(`${PREFIX}/a/b`) as { etag: string }
    for (const { headers } of gets.filter((_, i) => i > 0 && gets[i]?.headers['if-match']))
      t.equal(headers['if-match'], etag)
  })

  t.test('fails when it gets on no more, and never ends as if whole', async (t) => {
    let gets = 0
    s3.interfere = (call) => (isGet(call) ? { cutAfter: gets++ === 0 ? 400_000 : 0 } : undefined)
    let taken = 0
    const taking = (async () => {
      for await (const bytes of await storage.read('a/b')) taken += bytes.length
    })()
    await t.rejects(taking, /The storage breaks off/)
    t.ok(taken < content.length)
  })

  t.test('does not go on with another object', async (t) => {
    s3.interfere = (call) => {
      if (!isGet(call)) return undefined
      if (call.headers['if-match']) s3.objects().set(`${PREFIX}/a/b`, anotherOf(content.length))
      return { cutAfter: 400_000 }
    }
    await t.rejects(read(storage, 'a/b'), /changed while it was read/)
  })
})

t.test('a read ends its request when its reader goes', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  await storage.write('a/b', streamOf(randomBytes(20 << 20)))
  const stream = await storage.read('a/b')
  for await (const _ of stream) break
  await until(() => s3.underWay === 0)
  s3.interfere = onGet({ silentAfter: 1 })
  for (const error of [undefined, new Error('the client is gone')]) {
    const waiting = await storage.read('a/b')
    waiting.on('error', () => undefined)
    // By then the read waits for what comes next.
    await once(waiting, 'data')
    s3.calls.length = 0
    waiting.destroy(error)
    await until(() => s3.underWay === 0)
    await setImmediate()
    t.same(s3.calls, [], 'it is not opened again')
  }
})

t.test('a part is sent over a connection that is there', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  await storage.write('a/b', streamOf(randomBytes(PART_BYTES * 2 + 1)))
  const isSent = ({ operation, key }: TestS3['calls'][number]) =>
    operation === 'UploadPart' && key.endsWith('/a/b')
  const sent = s3.calls.filter(isSent)
  t.equal(sent.length, 3)
  for (const { headers } of sent) t.equal(headers['expect'], undefined)
})

t.test('a write', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  const content = randomBytes(PART_BYTES * 2.5)

  t.test('outlives answers that are lost and servers that are busy', async (t) => {
    const interferences: S3Interference[] = [
      'reset',
      'answer lost',
      { status: 503, code: 'SlowDown' },
      { status: 500, code: 'InternalError' },
    ]
    for (const interference of interferences) {
      const hit = new Set<string>()
      s3.interfere = ({ operation, key }) => {
        if (!key.endsWith('/a/b') || hit.has(operation)) return undefined
        hit.add(operation)
        // An upload whose beginning nobody heard of is left to be swept.
        if (interference === 'answer lost' && operation === 'CreateMultipartUpload') return 'reset'
        return interference
      }
      t.equal(await storage.write('a/b', streamOf(content)), content.length)
      t.ok(hit.has('CompleteMultipartUpload'))
      t.equal(hash(await read(storage, 'a/b')), hash(content))
      await storage.delete('a/b')
      t.equal(s3.uploads.size, 0)
    }
  })

  t.test('that fails in its middle leaves neither an object nor an upload', async (t) => {
    for (const operation of ['UploadPart', 'CompleteMultipartUpload']) {
      s3.interfere = (call) =>
        call.operation === operation && call.key.endsWith('/a/c')
          ? { status: 500, code: 'InternalError' }
          : undefined
      await t.rejects(storage.write('a/c', streamOf(content)), /InternalError/)
      t.equal(s3.uploads.size, 0)
      await t.rejects(storage.measure('a/c'), /There is no stored file/)
    }
  })

  t.test('sends few parts at a time, however many writes there are', async (t) => {
    let [sending, most] = [0, 0]
    s3.interfere = async ({ operation }) => {
      if (operation !== 'PutObject') return undefined
      most = Math.max(most, ++sending)
      await setImmediate()
      sending--
      return undefined
    }
    const writes = Array.from({ length: 40 }, (_, i) => storage.write(`many/${i}`, streamOf('x')))
    t.same(new Set(await Promise.all(writes)), new Set([1]))
    t.ok(most <= 4, `${most} at once`)
  })

  t.test('says so where there is no room for what comes', async (t) => {
    const { storage, scratchDir } = await openTestS3(t, ANEW)
    await writeFile(join(scratchDir, 'file'), '')
    const other = (await openTestS3(t, ANEW, { scratchDir: join(scratchDir, 'file') })).storage
    await t.rejects(other.write('a/b', streamOf('x')), /The scratch folder .* cannot be used/)
    t.equal(await storage.write('a/b', streamOf('x')), 1)
  })
})

t.test('a storage that is slow and gets on does not fail', async (t) => {
  const { s3, storage } = await openTestS3(t, HASTY)
  const content = randomBytes(PART_BYTES)
  s3.interfere = ({ operation }) => (operation === 'PutObject' ? { takenEveryMs: 20 } : undefined)
  t.equal(await storage.write('a/b', streamOf(content)), content.length)
  s3.interfere = onGet({ pieceBytes: 400_000, everyMs: 100 })
  t.equal(hash(await read(storage, 'a/b')), hash(content))
  s3.interfere = () => undefined
  const stream = await storage.read('a/b')
  let taken = 0
  for await (const bytes of stream) {
    // A reader may be slower than the storage has patience.
    if (taken === 0) await new Promise((resolve) => setTimeout(resolve, 1.5 * HASTY.answerMs))
    taken += bytes.length
  }
  t.equal(taken, content.length)
})

t.test('a storage is away', async (t) => {
  const cases: Record<string, S3Interference> = {
    'that does not answer': 'silent',
    'that breaks off': 'reset',
    'that is busy': { status: 503, code: 'SlowDown' },
    'that is broken': { status: 500, code: 'InternalError' },
    'that lets nobody in': { status: 403, code: 'AccessDenied' },
    'that has no such bucket': { status: 404, code: 'NoSuchBucket' },
  }
  for (const [title, interference] of Object.entries(cases)) {
    t.test(title, async (t) => {
      const { s3, storage } = await openTestS3(t, HASTY)
      await storage.write('a/b', streamOf('kept'))
      s3.interfere = () => interference
      await t.rejects(storage.read('a/b'), AWAY)
      await t.rejects(storage.measure('a/b'), AWAY)
      await t.rejects(storage.write('a/c', streamOf('lost')), AWAY)
      await t.rejects(storage.delete('a/b'), AWAY)
      t.match(await storage.findFault(), AWAY)
      s3.interfere = () => undefined
      await until(async () => (await storage.findFault()) === undefined)
      t.equal(String(await read(storage, 'a/b')), 'kept')
    })
  }

  t.test('that can be read and not written, which what it has shows', async (t) => {
    const { s3, storage } = await openTestS3(t, ANEW)
    await storage.write('a/b', streamOf('kept'))
    const denied = { status: 403, code: 'AccessDenied' }
    s3.interfere = ({ operation }) => (/Put|Upload/.test(operation) ? denied : undefined)
    t.match(await storage.findFault(), /AccessDenied/)
    t.equal(String(await read(storage, 'a/b')), 'kept')
    await t.rejects(storage.write('a/c', streamOf('lost')), AWAY)
  })

  t.test('that nothing listens for', async (t) => {
    const { storage } = await openTestS3(t, ANEW, { url: 'http://127.0.0.1:1' })
    t.match(await storage.findFault(), /ECONNREFUSED/)
  })
})

t.test('a look leaves nothing behind, and holds for a while', async (t) => {
  const { s3, storage } = await openTestS3(t)
  for (let i = 0; i < 5; i++) t.equal(await storage.findFault(), undefined)
  t.same([...s3.objects().keys()], [`${PREFIX}/.storage`])
  t.equal(s3.uploads.size, 0)
  const asked = s3.calls.length
  await storage.write('a/b', streamOf('x'))
  t.equal(s3.calls.length, asked + 1, 'a write of little is one request')
})

t.test('an examination names what a look leaves out', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  await storage.examine()
  t.same([...s3.objects().keys()], [`${PREFIX}/.storage`])
  t.equal(s3.uploads.size, 0)
  const denied = { status: 403, code: 'AccessDenied' }
  for (const each of ['ListObjectsV2', 'ListMultipartUploads', 'ListParts', 'DeleteObject']) {
    s3.interfere = ({ operation }) => (operation === each ? denied : undefined)
    t.equal(await storage.findFault(), undefined)
    await t.rejects(storage.examine(), /AccessDenied/, each)
  }
})

t.test('lists thousands of objects', async (t) => {
  const { s3, storage } = await openTestS3(t)
  await storage.findFault()
  const object = { bytes: Buffer.alloc(2), etag: '"e"', changedAt: new Date() }
  for (let i = 0; i < 2345; i++) s3.objects().set(`${PREFIX}/a/${i}`, object)
  const listed = await Array.fromAsync(storage.list())
  t.equal(new Set(listed.map(({ key }) => key)).size, 2345)
})

t.test('lists and deletes uploads that were left, and what is its own only', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW, { pageSize: 10 })
  await storage.findFault()
  const changedAt = new Date('2026-01-01')
  const [object, parts] = [{ bytes: Buffer.alloc(2), etag: '"e"', changedAt }, new Map()]
  s3.objects().set(`${PREFIX}/a/b`, object)
  s3.objects().set(`${PREFIX}/.hidden`, object)
  s3.objects().set(`${PREFIX}/a/not a key`, object)
  s3.objects().set('elsewhere/a', object)
  const upload = { bucket: 'test-bucket', parts, initiatedAt: changedAt }
  for (let i = 0; i < 35; i++) s3.uploads.set(`+/=${i}`, { ...upload, key: `${PREFIX}/b` })
  s3.uploads.set('+/=', { ...upload, key: 'elsewhere/b' })
  const part = `a/c.${randomUUID()}.part`
  s3.objects().set(`${PREFIX}/${part}`, object)
  const listed = await Array.fromAsync(storage.list())
  t.equal(new Set(listed.map(({ key }) => key)).size, 2 + 35)
  t.match(
    listed.find(({ key }) => key === part),
    { partOf: undefined },
    'no part is an object',
  )
  t.equal(listed.filter(({ partOf }) => partOf === 'b').length, 35)
  for (const { key, partOf, changedAt } of listed) if (partOf) await storage.delete(key, changedAt)
  t.same([...s3.uploads.keys()], ['+/='], 'what is not below the prefix is not ours')
})

t.test('an upload that goes on slowly is as young as its last part', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  await storage.findFault()
  const days = (ago: number) => new Date(Date.UTC(2026, 0, 10 - ago))
  const part = (ago: number) => ({ bytes: Buffer.alloc(10), changedAt: days(ago) })
  const parts = new Map([1, 2, 3].map((n) => [n, part(5 - n)]))
  const upload = { bucket: 'test-bucket', key: `${PREFIX}/a/b`, parts, initiatedAt: days(9) }
  s3.uploads.set('slow', upload)
  s3.uploads.set('empty', { ...upload, parts: new Map() })
  const listed = await Array.fromAsync(storage.list())
  const ends = Object.fromEntries(listed.map((file) => [file.bytes, file]))
  t.match(ends[30]?.changedAt, days(2))
  t.match(ends[0]?.changedAt, days(9))
  parts.set(4, part(1))
  const deleted = listed.map(({ key, changedAt }) => storage.delete(key, changedAt))
  t.same(new Set(await Promise.all(deleted)), new Set([true, false]))
  t.same([...s3.uploads.keys()], ['slow'], 'a part came after the list')
})

t.test('adopts again what was adopted before, without sending it', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  const path = join(await makeFolder(t), 'file')
  const adopt = async () => {
    await writeFile(path, 'content')
    s3.calls.length = 0
    await storage.adopt('a/b', path)
    return s3.calls.filter(({ operation }) => operation === 'PutObject')
  }
  t.match(await adopt(), [{ headers: { 'if-none-match': '*' } }])
  t.same(await adopt(), [])
  const stored = s3.objects().get(`${PREFIX}/a/b`) as { changedAt: Date; etag: string }
  stored.changedAt = new Date(Date.now() - 7_200_000)
  t.match(await adopt(), [{ headers: { 'if-match': stored.etag } }], 'one that may be swept soon')
})

t.test('gives an address at which a file can be read without a key', async (t) => {
  const { s3, storage } = await openTestS3(t, ANEW)
  await storage.write('a/b', streamOf('content'))
  const contentDisposition = 'attachment; filename="rows.jsonl"'
  const options = { seconds: 60, contentType: 'application/x-ndjson', contentDisposition }
  const url = (await storage.linkTo('a/b', options)) as string
  t.equal(new URL(url).origin, s3.url)
  t.equal(new URL(url).searchParams.get('X-Amz-Expires'), '60')
  const whole = await fetch(url)
  t.equal(await whole.text(), 'content')
  t.equal(whole.headers.get('content-type'), 'application/x-ndjson')
  t.equal(whole.headers.get('content-disposition'), contentDisposition)
  const part = await fetch(url, { headers: { range: 'bytes=3-' } })
  t.match([part.status, await part.text()], [206, 'tent'])
})

function isGet({ operation, key }: TestS3['calls'][number]) {
  return operation === 'GetObject' && !key.endsWith('.storage')
}

function onGet(interference: S3Interference): TestS3['interfere'] {
  return (call) => (isGet(call) ? interference : undefined)
}

function anotherOf(size: number) {
  return { bytes: Buffer.alloc(size), etag: '"another"', changedAt: new Date() }
}

async function* streamOf(content: Buffer | string) {
  yield Buffer.from(content)
}

async function read(storage: Storage, key: string, range?: Parameters<Storage['read']>[1]) {
  return Buffer.concat(await Array.fromAsync(await storage.read(key, range)))
}

function hash(content: Buffer) {
  return createHash('sha256').update(content).digest('hex')
}
