import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { buildDataset, pathOf } from '../../support/built-dataset.ts'
import { startS3 } from '../../support/s3.ts'
import { openService } from '../../support/service.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'

t.test('exports from a storage on S3', async (t) => {
  const s3 = await startS3(t)
  const through = await openService(t, { env: s3.env })
  const redirecting = await openService(t, {
    url: through.url,
    env: { ...s3.env, STORAGE_REDIRECT_SECONDS: '60' },
  })
  const org = await through.makeOrganization()
  const traces = [1, 2, 3, 4, 5].map((n) => ({ trace_id: `${n}`, messages: hello(`${n}`) }))
  await storeJudged(through.sql, org, traces)
  await through.startWorkers([buildDatasetHandler], 1)
  const version = await buildDataset(through.client(org.key), 'sft', {
    split: { train: 0.6, validation: 0.4 },
  })
  const path = `${pathOf(version)}/export`
  const train = `${path}?split=train`
  const api = redirecting.client(org.key)
  const whole = await through.client(org.key).get(train)

  t.test('come through the API by default', async (t) => {
    t.equal(whole.status, 200)
    t.equal((whole.body as string).trim().split('\n').length, 3)
    const part = await through.client(org.key).get(train, { range: 'bytes=5-9' })
    t.match(part, { status: 206, body: (whole.body as string).slice(5, 10) })
  })

  t.test('of one file are redirected to it, where the operator wants that', async (t) => {
    const answer = await api.get(train)
    t.match(answer, { status: 302, headers: { 'cache-control': 'no-store' } })
    const location = answer.headers['location'] as string
    const file = await fetch(location)
    t.equal(await file.text(), whole.body)
    for (const name of ['content-type', 'content-disposition'])
      t.equal(file.headers.get(name), whole.headers[name])
    const part = await fetch(location, { headers: { range: 'bytes=5-9' } })
    t.match([part.status, await part.text()], [206, (whole.body as string).slice(5, 10)])
    t.equal((await api.get(`${path}?format=parquet&split=train`)).status, 302)
  })

  t.test('follow the redirect with a usual client, in ranges too', async (t) => {
    await redirecting.server.start()
    const url = `${redirecting.server.info.uri}/api/v1${train}`
    const headers = { authorization: `Bearer ${org.key}` }
    t.equal(await (await fetch(url, { headers })).text(), whole.body)
    const part = await fetch(url, { headers: { ...headers, range: 'bytes=5-9' } })
    t.match([part.status, await part.text()], [206, (whole.body as string).slice(5, 10)])
  })

  t.test('of several files, and what only the API can answer, come through it', async (t) => {
    const all = await api.get(path)
    t.equal(all.status, 200)
    t.equal((all.body as string).trim().split('\n').length, 5)
    const { etag = '' } = whole.headers
    t.equal((await api.get(train, { 'if-none-match': etag })).status, 304)
    t.equal((await api.get(train, { range: 'bytes=999999-' })).status, 416)
    const resumed = await api.get(train, { range: 'bytes=5-9', 'if-range': etag })
    t.match(resumed, { status: 206, body: (whole.body as string).slice(5, 10) })
    const asking = request(`${redirecting.server.info.uri}/api/v1${train}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${org.key}` },
    })
    const answered = once(asking, 'response')
    asking.end()
    const [head] = (await answered) as [IncomingMessage]
    t.match(head, { statusCode: 200, headers: { etag, 'content-length': /^\d+$/ } })
  })

  t.test('are not redirected to a file that is gone, nor for who may not read it', async (t) => {
    const other = await through.makeOrganization()
    t.equal((await redirecting.client(other.key).get(train)).status, 404)
    for (const name of s3.objects().keys()) if (name.includes(version.id)) s3.objects().delete(name)
    t.match(await api.get(train), { status: 500, body: { code: 'file_missing' } })
  })
})
