import { createHash } from 'node:crypto'
import t from 'tap'
import { endpoint } from '../../api/endpoint.ts'
import { operations } from '../../api/routes.ts'
import { freeForm } from '../../jobs/shape.ts'
import { watchSecrets } from '../support/secrets.ts'
import { openService } from '../support/service.ts'

/** Fails in the worst way: with the whole request in its message. */
const clumsy = endpoint('POST', '/clumsy', {
  summary: 'Throws what it was sent',
  access: 'public',
  body: freeForm(),
  answers: {},
  handle: async ({ body, request }) => {
    throw new Error(`${JSON.stringify(body)} ${JSON.stringify(request.headers)}`)
  },
})

t.test('raw keys and session tokens', async (t) => {
  const service = await openService(t, { operations: [...operations, clumsy] })
  const org = await service.makeOrganization()
  await service.sql`
    update organizations set billing_contact = 'x@example.com' where id = ${org.orgId}`

  t.test('stay out of logs and tables wherever they were put', async (t) => {
    const { post, get } = service.client(org.key)
    const once = { 'idempotency-key': 'one' }
    const made = await post('/api-keys', { label: 'x', scope: 'global' }, once)
    const again = await post('/api-keys', { label: 'x', scope: 'global' }, once)
    t.equal(again.body.raw_key, made.body.raw_key, 'though an answer that holds one is kept')
    const raw = String(made.body.raw_key)

    const opened = await service.server.inject({
      method: 'POST',
      url: '/api/v1/auth/session',
      payload: { api_key: raw },
    })
    const token = /service_session=([^;]*)/.exec(
      String(opened.headers['set-cookie']),
    )?.[1] as string
    await service.server.inject({
      url: '/api/v1/auth/me',
      headers: { cookie: `service_session=${token}` },
    })

    const odd = {
      'user-agent': raw,
      referer: `http://x/?key=${raw}`,
      'x-request-id': raw.slice(0, 64),
    }
    await get(`/jobs?api_key=${raw}&project=${raw}`, odd)
    await get(`/jobs/${raw}`)
    await post('/traces', { agent_name: 'a' }, odd)
    await post('/api-keys', { label: 'y', scope: 'galaxy', api_key: raw, authorization: raw })
    const broken = await post(
      '/clumsy',
      { nested: { raw_key: raw } },
      { cookie: `service_session=${token}` },
    )
    t.equal(broken.status, 500)
    t.notMatch(JSON.stringify(broken.body), raw)

    const text = service.logged.join('')
    t.match(text, 'operation failed', 'the log is looked at')
    t.match(text, '[API key]')
    t.notMatch(text, raw)
    t.notMatch(text, createHash('sha256').update(raw).digest('hex'))
    await watchSecrets().check(service.sql)
    const [session] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from sessions s
      where s::text like ${`%${token}%`} or s::text like ${`%${Buffer.from(token).toString('hex')}%`}`
    t.equal(session?.n, 0)
  })

  t.test('would be found if they were anywhere', async (t) => {
    const other = await openService(t)
    const { key, orgId } = await other.makeOrganization()
    const watch = watchSecrets()
    const plant = (value: string) => other.sql`
      update organizations set name = ${value} where id = ${orgId}`
    await plant(`before ${key} after`)
    await t.rejects(watch.check(other.sql), { message: /public\.organizations/ })
    await plant(Buffer.from(key).toString('hex'))
    await t.rejects(watch.check(other.sql), { message: /public\.organizations/ })
    await plant('clean')
    await watch.check(other.sql)
    watch.lines.push(`a line with ${key}`)
    await t.rejects(watch.check(other.sql), { message: /the log/ })
  })

  t.test('share no line of the log with what a client wrote over several', async (t) => {
    await service.client(org.key).post('/clumsy', { text: 'one\r\ntwo\n{"level":60}' })
    for (const line of service.logged) {
      t.ok(line.endsWith('}\n') && !line.slice(0, -1).includes('\n'))
      t.doesNotThrow(() => JSON.parse(line))
    }
  })
})
