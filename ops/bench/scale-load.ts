import { randomUUIDv7 } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { print, quantile, report, round, whole } from './figures.ts'
import type { Bench } from './prepare.ts'
import type { ScaleOrganization } from './scale-organization.ts'
import { describeOrganization } from './scale-organization.ts'
import { fillIn, SCALE_REQUESTS } from './scale-requests.ts'
import { openProcesses } from './service-processes.ts'

/**
 * Asks each request in turn over HTTP, while traces come into the same organization and workers judge
 * them, in processes of their own.
 */
export async function measureLoad(
  { url, sql }: Bench,
  organization: ScaleOrganization,
  { seconds, folder }: { readonly seconds: number; readonly folder: string },
) {
  await using opened = new AsyncDisposableStack()
  const processes = openProcesses(opened, url, folder)
  const { address = '' } = await processes.startApi()
  await processes.startWorkers('evals,regression,maintenance')
  const known = await describeOrganization(sql, organization)
  const call = (path: string, body?: string) =>
    send(`${address}/api/v1${path}`, organization.key, body)
  const traffic = startTraffic(call)
  const times = new Map<string, number[]>(SCALE_REQUESTS.map((request) => [request, []]))
  const failed = new Set<string>()
  const end = performance.now() + seconds * 1000
  do {
    for (const [request, measured] of times) {
      const began = performance.now()
      if (await call(fillIn(request, known))) measured.push(performance.now() - began)
      else failed.add(request)
    }
  } while (performance.now() < end)
  const { stored, refused, perSecond } = await traffic.stop()
  for (const request of failed) process.stdout.write(`not answered: ${request}\n`)
  if (failed.size > 0 || refused > 0) process.exitCode = 1
  print(
    [...times].map(([request, measured]) => ({
      request,
      asked: measured.length,
      p50_ms: round(quantile(measured, 0.5)),
      p99_ms: round(quantile(measured, 0.99)),
    })),
  )
  const all = [...times.values()].flat()
  report({
    what: `requests while ${TRACES_A_SECOND} traces a second come in, p99 below 100 ms`,
    ratio: null,
    figures: `${whole(organization.rows)} traces, ${whole(stored)} more at ${whole(perSecond)} a second, ${whole(refused)} refused: p50 ${round(quantile(all, 0.5))} ms, p99 ${round(quantile(all, 0.99))} ms of ${whole(all.length)} requests`,
  })
}

/**
 * Sends a batch and some single traces every quarter of a second. One that is not answered yet does not
 * keep the next ones back, up to a bound, behind which fewer come in than are wanted.
 */
function startTraffic(call: Call) {
  const stopped = new AbortController()
  const sent = new Set<Promise<void>>()
  const began = performance.now()
  let [stored, refused] = [0, 0]
  const store = (path: string, traces: readonly object[]) => {
    const [single] = traces
    const body = JSON.stringify(traces.length === 1 ? single : traces)
    const request = call(path, body).then((isTaken) => {
      if (isTaken) stored += traces.length
      else refused += traces.length
      sent.delete(request)
    })
    sent.add(request)
  }
  async function run() {
    for (let tick = 1; !stopped.signal.aborted; tick++) {
      if (sent.size < MOST_IN_FLIGHT) {
        store('/traces/batch', Array.from({ length: BATCH }, makeTrace))
        for (let i = 0; i < SINGLES; i++) store('/traces', [makeTrace()])
      }
      const waitMs = Math.max(0, began + tick * TICK_MS - performance.now())
      await setTimeout(waitMs, undefined, stopped).catch(() => undefined)
    }
  }
  const running = run()
  return {
    /** Waits for the answers. */
    async stop() {
      stopped.abort()
      await running
      await Promise.all(sent)
      return { stored, refused, perSecond: (1000 * stored) / (performance.now() - began) }
    },
  }
}

/** Ten spans and a call of the model. */
function makeTrace() {
  const id = randomUUIDv7()
  const now = Date.now()
  const at = (second: number) => new Date(now - 10_000 + second * 1000).toISOString()
  const spans = Array.from({ length: SPANS }, (_, n) => ({
    id: `span-${n}`,
    ...(n > 0 && { parent_span_id: 'span-0' }),
    span_type: n === 0 ? 'agent' : 'tool',
    name: `step ${n}`,
    started_at: at(n),
    ended_at: at(n + 1),
    input_preview: PROSE,
  }))
  const call = {
    span_id: 'span-0',
    model_name: 'model-1',
    rendered_input: [
      { role: 'system', content: PROSE },
      { role: 'user', content: `Where is my order ${id}?` },
    ],
    output: { role: 'assistant', content: 'It was shipped and arrives tomorrow.' },
  }
  return {
    trace_id: id,
    agent_name: 'sql-analyst',
    session_id: id.slice(0, 13),
    tags: ['common'],
    started_at: at(0),
    ended_at: at(SPANS),
    spans,
    llm_calls: [call],
  }
}

/** Whether the answer is a success. */
async function send(url: string, key: string, body?: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(url, { headers, ...(body && { method: 'POST', body }) })
  await response.arrayBuffer()
  return response.ok
}

const TICK_MS = 250
const BATCH = 40
const SINGLES = 10
const TRACES_A_SECOND = ((BATCH + SINGLES) * 1000) / TICK_MS
const SPANS = 10
const MOST_IN_FLIGHT = 100
const PROSE = 'You help customers of a shop. Be brief, never guess, and use your tools.'

type Call = (path: string, body?: string) => Promise<boolean>
