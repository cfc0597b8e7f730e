import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Fleet } from './fleet.ts'

export type Traffic = Awaited<ReturnType<typeof startTraffic>>

/** Clients of an organization, who all the time store traces, score and read them, check and build. */
export async function startTraffic(t: Test, fleet: Fleet, key: string) {
  /** Ids of the traces whose storing was acknowledged; each has one score from its start. */
  const stored: string[] = []
  const failures: string[] = []
  let requests = 0
  let isOn = true

  async function send(method: string, path: string, body?: object) {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      prefer: 'respond-async',
    }
    requests++
    try {
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
      const { status, text } = await fleet.send(path, init)
      if (status >= 400) throw new Error(`${status} ${text}`)
      return JSON.parse(text) as Record<string, unknown>
    } catch (error) {
      failures.push(`${method} ${path}: ${describe(error)}`)
      return {}
    }
  }
  const get = (path: string) => send('GET', path)
  const post = (path: string, body: object) => send('POST', path, body)

  async function register(properties: object) {
    const input_schema = { type: 'object', properties }
    const components = [
      { component_type: 'tool', component_name: 'search', schema_json: { input_schema } },
    ]
    const { manifest_id } = await post('/manifests', { agent_name: AGENT, components })
    return manifest_id as string
  }
  const baseline = await register({ q: { type: 'string' } })
  const candidate = await register({ q: { type: 'string', maxLength: 2 } })
  const { id: dataset } = await post('/datasets', { name: 'all', dataset_type: 'sft' })

  let made = 0
  async function store() {
    const traces = Array.from({ length: BATCH }, () => makeTrace(++made, baseline))
    const answer = await post('/traces/batch', { traces })
    stored.push(...((answer['trace_ids'] as string[] | undefined) ?? []))
    const one = await post('/traces', makeTrace(++made, baseline))
    if (one['trace_id']) stored.push(one['trace_id'] as string)
  }
  async function score() {
    const scores = stored.slice(-BATCH).map((trace_id) => ({ trace_id, name: 'late', score: 0.5 }))
    if (scores.length === 0) return
    await post('/eval-scores', { scores })
  }
  async function read() {
    const id = stored[Math.floor(stored.length / 2)]
    if (id !== undefined) await get(`/traces/${id}`)
    await get('/traces?limit=20&q=order')
    await get('/eval-scores/aggregate?group_by=name')
    await get('/jobs')
  }
  /** Submits a job and waits for its end: where jobs come faster than they are worked off, no test ends. */
  async function work(path: string, body: object) {
    const { job_id: id } = await post(path, body)
    if (typeof id !== 'string') return
    while (isOn && (await get(`/jobs/${id}`))['done'] === false) await setTimeout(1000)
  }
  const check = () =>
    work('/regression-check', { agent_name: AGENT, candidate_manifest_id: candidate })
  const build = () => work(`/datasets/${String(dataset)}/build`, {})

  const loops = [store, score, read, check, build].map(async (client, i) => {
    while (isOn) {
      await client()
      await setTimeout(PAUSES_MS[i])
    }
  })

  async function stop() {
    isOn = false
    await Promise.all(loops)
  }
  t.teardown(stop)

  return {
    get,
    failures,
    stored,
    counts: () => ({ requests, stored: stored.length }),
    /** Resolves when so many more requests were answered. */
    async pass(more: number) {
      const end = requests + more
      while (requests < end) await setTimeout(20)
    },
    stop,
  }
}

function makeTrace(n: number, manifest_id: string) {
  return {
    trace_id: `t${n}`,
    agent_name: AGENT,
    manifest_id,
    user_input_preview: `where is order ${n}`,
    final_output_preview: 'on its way',
    llm_calls: [
      {
        model_name: 'gpt-4o',
        rendered_input: [{ role: 'user', content: `where is order ${n}` }],
        output: { role: 'assistant', content: 'on its way' },
        tool_calls: [{ tool_name: 'search', args: { q: `order ${n}` }, result: 'shipped' }],
      },
    ],
    scores: [{ name: 'solved', score: 1 }],
  }
}

function describe(error: unknown) {
  const { message, cause } = error as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

const AGENT = 'agent'
const BATCH = 5
/** Between the requests of each client, in the order of the clients. */
const PAUSES_MS = [100, 150, 100, 3000, 3000]
