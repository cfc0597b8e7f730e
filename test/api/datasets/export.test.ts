import { createHash } from 'node:crypto'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import t from 'tap'
import { readRange } from '../../../api/datasets/byte-range.ts'
import { matchesTag } from '../../../api/entity-tag.ts'
import { buildDataset, openDatasetService, pathOf } from '../../support/built-dataset.ts'
import type { Version } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'
import fc from '../../support/property.ts'

t.test('a range is what RFC 9110 says it is', async (t) => {
  const cases: [string | undefined, number, ReturnType<typeof readRange>][] = [
    [undefined, 10, undefined],
    ['bytes=0-0', 10, { start: 0, end: 1 }],
    ['bytes=2-5', 10, { start: 2, end: 6 }],
    ['BYTES= 2 - 5 ', 10, { start: 2, end: 6 }],
    ['bytes=2-', 10, { start: 2, end: 10 }],
    ['bytes=2-99', 10, { start: 2, end: 10 }],
    ['bytes=-3', 10, { start: 7, end: 10 }],
    ['bytes=-99', 10, { start: 0, end: 10 }],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'unsatisfiable'],
    ['bytes=5-2', 10, undefined],
    ['bytes=0-1,3-4', 10, undefined],
    ['bytes=a-b', 10, undefined],
    ['bytes=-', 10, undefined],
    ['lines=0-1', 10, undefined],
  ]
  for (const [header, size, range] of cases)
    t.same(readRange(header, size), range, `${header} of ${size}`)
})

t.test('an entity tag matches in a list, weakly, and as *', async (t) => {
  t.equal(matchesTag(undefined, '"a"'), false)
  t.equal(matchesTag('"b", W/"a"', '"a"'), true)
  t.equal(matchesTag('*', '"a"'), true)
  t.equal(matchesTag('"b"', '"a"'), false)
})

t.test('downloading a version', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const traces = Array.from({ length: 40 }, (_, n) => ({
    trace_id: `t-${n}`,
    task_id: `${n}`,
    messages: hello(`ä ${n}`),
  }))
  const { api, key } = await openOrganization(traces)
  const one = await buildDataset(api, 'sft')
  const split = await buildDataset(api, 'sft', {
    split: { train: 0.5, validation: 0.2, test: 0.3 },
  })

  async function download(version: Version, query: string, headers: Record<string, string> = {}) {
    const {
      statusCode,
      headers: answered,
      rawPayload,
    } = await service.server.inject({
      url: `/api/v1${pathOf(version)}/export${query}`,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    return {
      status: statusCode,
      headers: answered as Record<string, string>,
      bytes: rawPayload as Buffer,
    }
  }
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  const fileOf = (version: Version, format: string, name = 'train') =>
    version.files.find((file) => file.format === format && file.split === name)

  t.test('200: the file with its hash, type and name', async (t) => {
    for (const [format, type] of [
      ['jsonl', 'application/x-ndjson'],
      ['parquet', 'application/octet-stream'],
    ]) {
      const { status, headers, bytes } = await download(one, `?format=${format}`, {
        'accept-encoding': 'gzip',
      })
      t.equal(status, 200)
      t.match(headers, {
        'content-type': type,
        'accept-ranges': 'bytes',
        etag: `"${sha256(bytes).toString('hex')}"`,
        digest: `sha-256=${sha256(bytes).toString('base64')}`,
        'content-length': String(bytes.length),
      })
      t.notOk(headers['content-encoding'])
      t.match(
        headers['content-disposition'],
        new RegExp(`^attachment; filename="dataset-[\\w-]+-v1-train-00000-of-00001.${format}"$`),
      )
      t.equal(sha256(bytes).toString('hex'), fileOf(one, format as string)?.sha256)
    }
  })

  t.test('JSONL without a split is all splits in their order, as one file', async (t) => {
    const { bytes, headers } = await download(split, '')
    const parts = await Promise.all(
      ['train', 'validation', 'test'].map((name) => download(split, `?split=${name}`)),
    )
    t.ok(bytes.equals(Buffer.concat(parts.map((part) => part.bytes))))
    t.equal(headers['etag'], `"${sha256(bytes).toString('hex')}"`)
    for (const [i, name] of ['train', 'validation', 'test'].entries()) {
      const part = parts[i] as (typeof parts)[number]
      t.equal(part.headers['etag'], `"${fileOf(split, 'jsonl', name)?.sha256}"`)
    }
    t.equal(
      (await download(split, '?split=test&shard=0')).bytes.length,
      fileOf(split, 'jsonl', 'test')?.size_bytes,
    )
  })

  t.test('any range over several files is the same bytes of the whole', async (t) => {
    const { bytes } = await download(split, '')
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(bytes.length - 1), async (a, b) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)]
        const part = await download(split, '', { range: `bytes=${start}-${end}` })
        t.equal(part.status, 206)
        t.equal(part.headers['content-range'], `bytes ${start}-${end}/${bytes.length}`)
        t.ok(part.bytes.equals(bytes.subarray(start, end + 1)))
      }),
      { numRuns: 25 },
    )
    const tail = await download(split, '', { range: 'bytes=-100' })
    t.ok(tail.bytes.equals(bytes.subarray(-100)))
    t.equal(tail.headers['digest'], `sha-256=${sha256(bytes).toString('base64')}`, 'of the whole')
  })

  t.test('416: a range outside of the file', async (t) => {
    const { status, headers } = await download(one, '', { range: 'bytes=99999999-' })
    t.equal(status, 416)
    t.equal(headers['content-range'], `bytes */${fileOf(one, 'jsonl')?.size_bytes}`)
  })

  t.test('several ranges, and what is no range, are answered with the whole', async (t) => {
    for (const range of ['bytes=0-1,3-4', 'bytes=5-2', 'bytes=x']) {
      const { status, bytes } = await download(one, '', { range })
      t.equal(status, 200)
      t.equal(bytes.length, fileOf(one, 'jsonl')?.size_bytes)
    }
  })

  t.test('304 for a tag the client has, and If-Range decides whether a range is one', async (t) => {
    const tag = `"${fileOf(one, 'jsonl')?.sha256}"`
    const same = await download(one, '', { 'if-none-match': `"x", ${tag}` })
    t.equal(same.status, 304)
    t.equal(same.bytes.length, 0)
    t.equal(same.headers['etag'], tag)
    t.equal((await download(one, '', { 'if-none-match': '"x"' })).status, 200)
    t.equal((await download(one, '', { range: 'bytes=0-1', 'if-range': tag })).status, 206)
    t.equal((await download(one, '', { range: 'bytes=0-1', 'if-range': '"x"' })).status, 200)
  })

  t.test('HEAD has the headers and no body', async (t) => {
    const { statusCode, headers, payload } = await service.server.inject({
      method: 'HEAD',
      url: `/api/v1${pathOf(one)}/export`,
      headers: { authorization: `Bearer ${key}` },
    })
    t.equal(statusCode, 200)
    t.equal(Number(headers['content-length']), fileOf(one, 'jsonl')?.size_bytes)
    t.equal(payload, '')
  })

  t.test('Parquet is one file a request', async (t) => {
    t.equal((await download(split, '?format=parquet')).status, 400)
    const { status, bytes } = await download(split, '?format=parquet&split=test')
    t.equal(status, 200)
    t.equal(bytes.toString('latin1', 0, 4), 'PAR1')
  })

  t.test('404 for a file the version does not have, 422 for a format there is not', async (t) => {
    t.equal((await download(one, '?shard=1')).status, 404)
    t.equal((await download(one, '?format=csv')).status, 422)
  })

  t.test('a split without rows is an empty file', async (t) => {
    const lines = await download(one, '?split=test')
    t.match([lines.status, lines.headers['content-length']], [200, '0'])
    const parquet = await download(one, '?split=validation&format=parquet')
    t.equal(parquet.status, 200)
    const file = new Uint8Array(parquet.bytes).buffer
    t.same(await parquetReadObjects({ file, compressors }), [])
    const whole = await download(one, '?format=parquet')
    t.equal(whole.status, 200, 'the only file with rows needs no name')
  })

  t.test('a version without rows is an empty file', async (t) => {
    const empty = await buildDataset(api, 'sft', { filters: { agent_name: 'nobody' } })
    const { status, bytes, headers } = await download(empty, '')
    t.match({ status, length: bytes.length }, { status: 200, length: 0 })
    t.equal(headers['etag'], `"${sha256(bytes).toString('hex')}"`)
    t.equal((await download(empty, '?format=parquet')).bytes.toString('latin1', 0, 4), 'PAR1')
  })

  t.test('the name of a dataset gives no header of its own', async (t) => {
    const { body } = await api.post('/datasets', { name: 'a"; x=\n/..\\ ü', dataset_type: 'sft' })
    await api.post(`/datasets/${body.id}/build`)
    const { headers } = await api.get(`/datasets/${body.id}/versions/1/export`)
    t.equal(
      headers['content-disposition'],
      'attachment; filename="a-x-v1-train-00000-of-00001.jsonl"',
    )
  })
})
