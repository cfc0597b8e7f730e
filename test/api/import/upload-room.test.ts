import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const LIMIT = 1000
const LINES = { 'content-type': 'application/x-ndjson', prefer: 'respond-async' }

t.test('the room of stored uploads', async (t) => {
  const env = { QUOTA_STORED_UPLOAD_BYTES: `${LIMIT},0,0,${LIMIT}` }
  const service = await openService(t, { env })
  await service.server.start()

  async function open() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const send = (bytes: number) => client.call('POST', '/import/jsonl', ' '.repeat(bytes), LINES)
    /** An upload whose length is not announced; write and end it. */
    function stream(headers = {}): ClientRequest {
      const url = `${service.server.info.uri}/api/v1/import/jsonl`
      const authorization = `Bearer ${org.key}`
      const sent = request(url, {
        method: 'POST',
        headers: { ...LINES, authorization, ...headers },
      })
      sent.on('error', () => undefined)
      return sent
    }
    const reserved = async () => {
      const rows = await service.sql<{ bytes: number }[]>`
        select bytes from upload_reservations where org_id = ${org.orgId}`
      return rows.map(({ bytes }) => bytes)
    }
    return { ...org, client, send, stream, reserved }
  }

  t.test('holds as much as the plan says, and says why it takes no more', async (t) => {
    const { send, client, reserved } = await open()
    t.equal((await send(600)).status, 202)
    const refused = await send(401)
    t.match(refused, {
      status: 429,
      headers: { 'x-quota-exceeded': 'stored_uploads', 'retry-after': /^\d+$/ },
      body: {
        code: 'too_many_uploads',
        detail:
          'stored_uploads: the plan allows 1,000 bytes of uploads whose imports have not ended; send it again when some have',
      },
    })
    t.equal((await send(400)).status, 202, 'what fits exactly is taken')
    t.match(await send(LIMIT + 1), { status: 413, body: { detail: /send it in parts$/ } })
    const inRequest = await client.post('/import/traces', { traces: [{ agent_name: 'a' }] })
    t.equal(inRequest.status, 429, 'traces in a request take room too')
    t.same(await reserved(), [])
    t.equal((await readdir(join(service.storageFolder, 'imports'))).length, 2)
  })

  t.test('is exact however many send at once', async (t) => {
    const { send, reserved } = await open()
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(300)))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    t.equal(count(202), 3)
    t.equal(count(429), 9)
    t.same(await reserved(), [])
  })

  t.test('is taken while an upload comes, whether it says how long it is or not', async (t) => {
    const { send, stream, reserved } = await open()
    const announced = stream({ 'content-length': '700' })
    announced.write(' ')
    await until(async () => (await reserved()).includes(700))
    t.equal((await send(301)).status, 429)
    const unknown = stream()
    unknown.write(' '.repeat(200))
    await until(async () => (await reserved()).length === 2)
    unknown.write(' '.repeat(101))
    const [answer] = (await once(unknown, 'response')) as [IncomingMessage]
    t.equal(answer.statusCode, 429, 'stopped where there is no room')
    announced.destroy()
    await until(async () => (await reserved()).length === 0)
    t.equal((await send(LIMIT)).status, 202, 'and free when the upload breaks off')
  })

  t.test('is free again when the import has ended', async (t) => {
    const { send } = await open()
    const { body } = await send(LIMIT)
    t.equal((await send(1)).status, 429)
    const worker = await service.startWorkers([importTracesHandler], 1)
    await until(async () => {
      const [row] = await service.sql`
        select from imports where id = ${body.import_id} and storage_key is null`
      return row
    })
    await worker.stop()
    t.equal((await send(LIMIT)).status, 202)
  })

  t.test('counts no upload whose process was killed', async (t) => {
    const { send, orgId } = await open()
    await service.sql`
      insert into upload_reservations (org_id, id, bytes, renewed_at)
      values (${orgId}, ${orgId}, ${LIMIT}, now() - interval '9 minutes')`
    t.equal((await send(1)).status, 429)
    await service.sql`
      update upload_reservations set renewed_at = now() - interval '11 minutes'`
    t.equal((await send(1)).status, 202)
  })
})
