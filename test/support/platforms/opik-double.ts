import type { Test } from 'tap'
import { inWindow, startDouble } from './double.ts'
import type { DoubleOptions, PlatformCall, PlatformReply } from './double.ts'
import { PLATFORM_KEY, PROJECT_ID, PROJECT_NAME } from './connection.ts'
import type { PlatformTrace, Step, TraceScore } from './platform-traces.ts'

/** Opik with one project: searches of its traces and spans. */
export async function startOpik(
  t: Test,
  traces: readonly PlatformTrace[],
  options: DoubleOptions = {},
) {
  // The newest first, as Opik lists them.
  const listed = (records: readonly Told[]) =>
    records.map((record) => ({ at: new Date(record.start_time), record })).reverse()
  const rows = {
    traces: listed(traces.map(traceOf)),
    spans: listed(traces.flatMap((trace) => trace.steps.slice(1).map((s) => spanOf(trace, s)))),
  }
  const { repeats = false, mostRows = 2000 } = options

  function answer({ method, path, body }: PlatformCall): PlatformReply {
    const found = { json: { id: PROJECT_ID, name: PROJECT_NAME } }
    switch (`${method} ${path}`) {
      case 'POST /v1/private/projects/retrieve':
        return body.name === PROJECT_NAME ? found : UNKNOWN
      case `GET /v1/private/projects/${PROJECT_ID}`:
        return found
      case 'POST /v1/private/traces/search':
        return search('traces', body)
      case 'POST /v1/private/spans/search':
        return search('spans', body)
      default:
        return UNKNOWN
    }
  }

  function search(kind: 'traces' | 'spans', body: Search): PlatformReply {
    const { project_id: project, filters, last_retrieved_id: last, limit, truncate } = body
    if (project !== PROJECT_ID || truncate || limit > 2000) return INVALID
    const [from, to] = ['>=', '<'].map((sign) =>
      filters.find(({ operator, field }) => operator === sign && field === 'start_time'),
    )
    const matching = inWindow(rows[kind], [from?.value, to?.value], repeats)
    const after = matching.filter(({ record }) => last === undefined || record.id < last)
    const page = after.slice(0, Math.min(limit, mostRows)).map(({ record }) => record)
    const before = matching.find(({ record }) => repeats && record.id === last)?.record
    return { lines: before ? [before, ...page] : page }
  }

  const double = await startDouble(
    t,
    {
      isAllowed: ({ authorization, 'comet-workspace': workspace }) =>
        authorization === PLATFORM_KEY && workspace === OPIK_WORKSPACE,
      answer,
      hasCursor: ({ body }) => body?.last_retrieved_id !== undefined,
      expiredStatus: 400,
      isStreamed: ({ path }) => path.endsWith('/search'),
    },
    options,
  )
  return Object.assign(double, {
    records: [...rows.traces, ...rows.spans].map(({ record }) => record),
  })
}

function traceOf({ id, session, steps: [root], score }: PlatformTrace) {
  return {
    ...toldOf(root as Step),
    id,
    thread_id: session,
    feedback_scores: score ? [scoreOf(score)] : [],
  }
}

function scoreOf({ value }: TraceScore) {
  return {
    name: 'good',
    value,
    source: 'ui',
    created_at: '2026-03-05T10:00:00Z',
    last_updated_at: '2026-03-05T10:00:00Z',
  }
}

function spanOf({ id: trace_id }: PlatformTrace, step: Step) {
  return {
    ...toldOf(step),
    trace_id,
    parent_span_id: null,
    type: step.kind,
    ...(step.kind === 'llm' && { model: 'gpt-4o', provider: 'openai' }),
  }
}

function toldOf({ id, kind, from, to, asked, answered }: Step) {
  const [user, assistant] = [
    { role: 'user', content: asked },
    { role: 'assistant', content: answered },
  ]
  return {
    id,
    project_id: PROJECT_ID,
    name: kind,
    start_time: from.toISOString(),
    end_time: to.toISOString(),
    input: kind === 'llm' ? { messages: [user] } : { input: asked },
    output: kind === 'llm' ? { choices: [{ message: assistant }] } : { output: answered },
  }
}

type Told = ReturnType<typeof toldOf>
interface Search {
  readonly project_id: string
  readonly filters: readonly { field: string; operator: string; value: string }[]
  readonly last_retrieved_id?: string
  readonly limit: number
  readonly truncate: boolean
}

export const OPIK_WORKSPACE = 'crew'
const UNKNOWN = { status: 404, json: { code: 404, message: 'Project not found' } }
const INVALID = { status: 400, json: { code: 400, message: 'Invalid search' } }
