import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { pullTracesHandler } from '../../../../workers/import/pull-traces.ts'
import { makePlatformTraces } from '../../../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../../../support/platforms/pulls.ts'
import { findInTables, literally } from '../../../support/secrets.ts'
import { openService } from '../../../support/service.ts'

const TRACES = makePlatformTraces(2)
const ALLOWED = { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } }
/** It looks like one of our keys, which are searched for at the end of the file. */
const WRONG_KEY = `svc_sk_${'Wr0ng'.repeat(8).slice(0, 38)}`

t.test('a key that is refused is in no log, row, error or payload', async (t) => {
  const service = await openService(t, ALLOWED)
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  pulls.hurry()

  for (const [name, kind] of Object.entries(DOUBLES)) {
    await t.test(name, async (t) => {
      const double = await kind.start(t, TRACES)
      const found: string[] = []
      // Servers show what they were sent: once as something passing, then as the reason of the refusal.
      double.onCall = ({ headers, query }) => {
        const said = JSON.stringify({ ...headers, query: query.toString() })
        return {
          status: double.calls.length > 1 ? 401 : 500,
          json: { message: said, detail: said },
        }
      }
      const keys = Object.fromEntries(
        Object.entries(kind.keys).map(([word, key]) => [
          word,
          key.startsWith('svc_') ? WRONG_KEY : key,
        ]),
      )
      const pulled = await pulls.pull(kind, double, { connection: keys })
      const pair = Buffer.from(`${keys['public_key']}:${WRONG_KEY}`).toString('base64')
      const forms = [WRONG_KEY, pair, Buffer.from(WRONG_KEY).toString('hex')]
      const look = async () => {
        found.push(...(await findInTables(service.sql, forms.map(literally))))
      }
      await look()
      const shown = await pulled.ended()
      await look()
      t.match(shown, { error: { code: 'source_refused' } })
      t.equal(double.calls.length, 2)
      t.ok(
        double.calls.every(({ headers }) =>
          forms.some((form) => JSON.stringify(headers).includes(form)),
        ),
      )
      t.same(found, [])
      const told = JSON.stringify(shown) + service.logged.join('')
      for (const form of forms) t.notOk(told.includes(form))
      t.match(shown.connection, { base_url: double.url, api_key: undefined, secret_key: undefined })
      const left = await service.sql`select 1 from job_secrets where job_id = ${pulled.jobId}`
      t.equal(left.length, 0, 'the sealed keys are gone with the job')
    })
  }
})

t.test('a project that is not there is told from a failure', async (t) => {
  const service = await openService(t, ALLOWED)
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  for (const [name, kind] of Object.entries(DOUBLES)) {
    const double = await kind.start(t, TRACES)
    const pulled = await pulls.pull(kind, double, { connection: { project: 'another/one?' } })
    t.match(await pulled.ended(), { error: { code: 'source_project_unknown' } }, name)
    t.ok(double.calls.every(({ path }) => !/spans|runs|traces|observations/.test(path)))
  }
})

t.test('what another address than that of the API answers ends the pull at once', async (t) => {
  const service = await openService(t, ALLOWED)
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  const answers = [
    { reply: { status: 404, json: {} }, code: 'source_project_unknown', message: /base_url/ },
    { reply: { lines: [{}, {}] }, code: 'source_unreadable', message: /base_url/ },
    { reply: { status: 422, json: {} }, code: 'source_rejected', message: /422/ },
  ]
  for (const [name, kind] of Object.entries(DOUBLES)) {
    const double = await kind.start(t, TRACES)
    for (const { reply, ...error } of answers) {
      double.calls.length = 0
      double.onCall = () => reply
      t.match((await (await pulls.pull(kind, double)).ended()).error, error, name)
      t.equal(double.calls.length, 1, `${name} is asked once`)
    }
  }
})

t.test('a redirect is not followed', async (t) => {
  const service = await openService(t, ALLOWED)
  await service.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, service)
  const other = await startListener(t)
  for (const [name, kind] of Object.entries(DOUBLES)) {
    const double = await kind.start(t, TRACES)
    double.onCall = () => ({
      status: 307,
      headers: { location: `http://127.0.0.1:${other.port}/` },
    })
    const pulled = await pulls.pull(kind, double)
    t.match(await pulled.ended(), { error: { code: 'source_redirects' } }, name)
  }
  t.equal(other.connections(), 0)
})

t.test('a private address is refused before a packet is sent to it', async (t) => {
  const listener = await startListener(t)
  const open = await openService(t, ALLOWED)
  const closed = await openService(t, { url: open.url })
  const kind = { source: 'phoenix', keys: {} } as const
  for (const host of ['127.0.0.1', 'localhost']) {
    const url = `https://${host}:${listener.port}`
    const org = await closed.makeOrganization()
    const connection = { base_url: url, project: 'shop' }
    const asked = await closed.client(org.key).post('/import', { source: 'phoenix', connection })
    t.equal(asked.status, 400, `${host} is refused when it is asked for`)
  }
  // As a name that leads elsewhere by the time the job runs.
  await closed.startWorkers([pullTracesHandler])
  const pulls = openPulls(t, open)
  const pulled = await pulls.pull(kind, { url: `https://127.0.0.1:${listener.port}` })
  t.match(await pulled.ended(), { error: { code: 'blocked_address' } })
  t.equal(listener.connections(), 0)
})

/** Counts who connects to it. */
async function startListener(t: Test) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}
