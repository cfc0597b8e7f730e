import { Agent, get } from 'node:http'
import t from 'tap'
import { findFreePort } from '../../ops/free-port.ts'
import { openTestDatabase } from '../support/database.ts'
import { launch } from '../support/program.ts'
import { makeOrganization } from '../support/service.ts'
import { makeFolder, start } from '../support/started.ts'
import { until } from '../support/until.ts'

/** What the start of a process may take on a busy machine. */
const START_MS = 60_000

t.test('a process that was asked to stop', async (t) => {
  const { url: DATABASE_URL, sql } = await openTestDatabase(t)
  const { key } = await makeOrganization(sql, 'enterprise')

  async function launchApi(DRAIN_DELAY_SECONDS: string) {
    const HEALTH_PORT = String(await findFreePort())
    const api = launch(t, 'start-api.ts', { DATABASE_URL, HEALTH_PORT, DRAIN_DELAY_SECONDS })
    const address = await until(() => /"address":"(http[^"]+)"/.exec(api.stderr())?.[1], START_MS)
    return { ...api, address, ready: `http://127.0.0.1:${HEALTH_PORT}/readyz` }
  }

  t.test('leaves readiness and serves until the delay is over', async (t) => {
    const api = await launchApi('300')
    const client = openClient(key)
    const before = await client(`${api.address}/api/v1/jobs`)
    t.match(before, { status: 200, headers: { connection: 'keep-alive' } })
    const ended = api.stop('SIGTERM')
    t.match(await untilStopping(() => client(api.ready)), { status: 503 })
    t.match(await client(`${api.address}/readyz`), { status: 503, text: /stopping/ })
    const after = await client(`${api.address}/api/v1/jobs`)
    t.match(after, { status: 200, headers: { connection: 'close' } })
    await endAtOnce(api)
    t.equal(await ended, 1, 'a second signal ends it at once')
  })

  t.test('then stops in order', async (t) => {
    const api = await launchApi('1')
    t.equal(await api.stop('SIGTERM'), 0)
  })

  t.test('does so as a worker too', async (t) => {
    const HEALTH_PORT = String(await findFreePort())
    const env = { DATABASE_URL, HEALTH_PORT, DRAIN_DELAY_SECONDS: '300' }
    const worker = launch(t, 'start-workers.ts', env, ['--pool', 'evals'])
    const ready = openClient(key).bind(undefined, `http://127.0.0.1:${HEALTH_PORT}/readyz`)
    await until(async () => (await ready().catch(() => undefined))?.status === 200, START_MS)
    const ended = worker.stop('SIGTERM')
    t.match(await untilStopping(ready), { status: 503 })
    await endAtOnce(worker)
    t.equal(await ended, 1)
  })

  t.test('does so as the whole service too', async (t) => {
    const DATA_DIR = await makeFolder(t)
    const service = await start(t, { DATABASE_URL, DATA_DIR, DRAIN_DELAY_SECONDS: '300' })
    const client = openClient(key)
    service.child.kill('SIGTERM')
    const answer = await untilStopping(() => client(`${service.address}/readyz`))
    t.match(answer, { status: 503 })
    t.match(await client(`${service.address}/api/v1/jobs`), { status: 200 })
    await until(() => {
      service.child.kill('SIGTERM')
      return service.output().includes('at once')
    })
  })
})

/** Signals again until the process has ended: what comes within half a second is the same keystroke. */
async function endAtOnce({ stop, ended }: ReturnType<typeof launch>) {
  let isOver = false
  void ended.then(() => (isOver = true))
  await until(() => {
    if (!isOver) void stop('SIGTERM')
    return isOver
  })
}

/** Keeps its connections when the server does. */
function openClient(key: string) {
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return (url: string) =>
    new Promise<Answer>((resolve, reject) => {
      get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
        const { statusCode: status = 0, headers } = response
        let text = ''
        response.on('data', (part: Buffer) => (text += part.toString()))
        response.on('end', () => resolve({ status, headers, text }))
      }).on('error', reject)
    })
}

/** Asks until the answer says so; on a busy machine one may say before that a check took too long. */
function untilStopping(ask: () => Promise<Answer>) {
  return until(async () => {
    const answer = await ask()
    return answer.text.includes('stopping') && answer
  })
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}
