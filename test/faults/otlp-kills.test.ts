import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { requestSettling } from '../../jobs/settle-traces.ts'
import type { ChildMessage } from '../../ops/process.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { settleTracesHandler } from '../../workers/evals/settle-traces.ts'
import { makeAgent, openAgentService } from '../support/agents.ts'
import { bareEnv } from '../support/bare-env.ts'
import { exportBytes, exportRequest, spanId, traceId } from '../support/otlp.ts'
import type { GivenSpan } from '../support/otlp.ts'
import { otlpClient } from '../support/otlp-client.ts'
import { randomOf } from '../support/random.ts'
import { recomputeCells } from '../support/score-cells.ts'
import { traceState } from '../support/trace-state.ts'
import { LONG } from './stage.ts'

const TRACES = LONG ? 200 : 30
const CLIENTS = 4
const KILLS = LONG ? 10 : 2

t.test('spans in any order, by clients whose API processes are killed', async (t) => {
  const service = await openAgentService(t)
  await service.startWorkers([settleTracesHandler])
  const traces = Array.from({ length: TRACES }, (_, i) => spansOf(i))
  const random = randomOf(Number(process.env['FC_SEED'] ?? 7))

  const ordered = await makeAgent(service)
  const { send } = otlpClient(service, ordered.org.key)
  for (const spans of traces) t.equal((await send(exportRequest(spans))).status, 200)

  const stormy = await makeAgent(service)
  const apis = await Promise.all([startApi(service), startApi(service)])
  t.teardown(() => Promise.all(apis.map((api) => api.kill())))
  const requests = cutInto(shuffled(repeated(traces.flat(), random), random), random)
  let sent = 0
  let failed = 0
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = client; i < requests.length; i += CLIENTS) {
      const bytes = exportBytes(exportRequest(requests[i] as GivenSpan[]))
      for (
        let attempt = client;
        !(await isTaken(apis[attempt % 2] as Api, stormy.org.key, bytes));
        attempt++
      ) {
        failed++
      }
      sent++
    }
  })
  const killer = (async () => {
    for (let kill = 1; kill <= KILLS; kill++) {
      while (sent < (kill * requests.length) / (KILLS + 1)) await setTimeout(5)
      await (apis[kill % 2] as Api).restart()
    }
  })()
  await Promise.all([...clients, killer])
  t.ok(failed > 0, `${requests.length} requests, ${failed} of them again`)

  const states: unknown[] = []
  for (const { org, settled } of [ordered, stormy]) {
    await service.sql`update traces set settles_at = now() where org_id = ${org.orgId} and settles_at is not null`
    await service.context.queue.transaction(service.sql, (tx: Transaction) =>
      requestSettling(service.context.queue, tx, org.orgId, org.projectId, 0),
    )
    await settled()
    await recomputeCells(service.sql, org)
    states.push(await traceState(service.sql, org.orgId, { [org.projectId]: 'project' }))
    const [usage] = await service.sql<{ n: number }[]>`
    select sum(current)::int as n from usage where org_id = ${org.orgId} and metric = 'traces_ingested'`
    t.equal(usage?.n, TRACES, 'the quota counts traces')
    const [open] =
      await service.sql`select from traces where org_id = ${org.orgId} and settles_at is not null`
    t.notOk(open, 'all have settled')
  }
  t.same(states[1], states[0])
  const [state] = states as [Awaited<ReturnType<typeof traceState>>]
  for (const table of [
    'traces',
    'verdicts',
    'eval_scores',
    'trace_search',
    'agent_edges',
    'score_cells',
  ]) {
    t.ok(state[table]?.length, `there are ${table}`)
  }
})

/** A trace of two agents, with calls of a model and a tool; every seventh lacks its root. */
function spansOf(i: number): GivenSpan[] {
  const trace = traceId(i + 1)
  const from = i * 60
  const said = (content: string, role: string) =>
    JSON.stringify([{ role, parts: [{ type: 'text', content }] }])
  const chat = (n: number) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': said(`question ${i % 5 === 0 ? 'of many' : i}`, 'user'),
    'gen_ai.output.messages': said(`answer ${n}`, 'assistant'),
  })
  const spans: GivenSpan[] = [
    {
      trace,
      id: spanId(1),
      from,
      to: from + 30,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'support',
        'session.id': `s${i % 3}`,
      },
    },
    { trace, id: spanId(2), parent: spanId(1), from: from + 1, attributes: chat(1) },
    {
      trace,
      id: spanId(3),
      parent: spanId(1),
      from: from + 3,
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' },
    },
    {
      trace,
      id: spanId(4),
      parent: spanId(1),
      from: from + 5,
      to: from + 9,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'billing' },
    },
    { trace, id: spanId(5), parent: spanId(4), from: from + 6, attributes: chat(2) },
  ]
  return i % 7 === 6 ? spans.slice(1) : spans
}

/** Some of the spans come twice. */
function repeated(spans: readonly GivenSpan[], random: () => number) {
  return spans.flatMap((span) => (random() < 0.2 ? [span, span] : [span]))
}

function shuffled<T>(list: readonly T[], random: () => number) {
  return list
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

function cutInto(spans: readonly GivenSpan[], random: () => number) {
  const requests: GivenSpan[][] = []
  for (let at = 0; at < spans.length;) {
    const count = 1 + Math.floor(random() * 6)
    requests.push(spans.slice(at, at + count))
    at += count
  }
  return requests
}

/** Whether all spans were taken; an exporter sends them again where nobody answered, or with 503. */
async function isTaken(api: Api, key: string, body: Buffer) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' }
  try {
    const response = await fetch(`${api.address()}/v1/traces`, {
      method: 'POST',
      headers,
      body: new Uint8Array(body),
    })
    const { byteLength } = await response.arrayBuffer()
    if (response.status === 200 && byteLength === 0) return true
    if (response.status !== 503) throw new TypeError(`answered with ${response.status}`)
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('answered')) throw error
  }
  await setTimeout(20)
  return false
}

async function startApi({ url, config }: Awaited<ReturnType<typeof openAgentService>>) {
  const env = {
    ...bareEnv(),
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATA_DIR: config.DATA_DIR,
    DATABASE_URL: url,
  }
  async function launch() {
    const child = spawn(process.execPath, ['ops/start-api.ts'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [started] = (await once(child, 'message')) as [ChildMessage]
    if (!('address' in started)) throw new Error(`It did not start: ${JSON.stringify(started)}`)
    return { child, address: started.address }
  }
  let running = await launch()
  async function kill() {
    const { child } = running
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    address: () => running.address,
    kill,
    async restart() {
      await kill()
      running = await launch()
    },
  }
}
type Api = Awaited<ReturnType<typeof startApi>>
