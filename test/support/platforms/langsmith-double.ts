import type { Test } from 'tap'
import { inWindow, pageOf, startDouble } from './double.ts'
import type { DoubleOptions, PlatformCall, PlatformReply } from './double.ts'
import { PLATFORM_KEY, PROJECT_ID, PROJECT_NAME } from './connection.ts'
import type { PlatformTrace, Step, TraceScore } from './platform-traces.ts'

/** LangSmith with one project: sessions, runs and feedback. */
export async function startLangsmith(
  t: Test,
  traces: readonly PlatformTrace[],
  options: DoubleOptions = {},
) {
  const runs = traces.flatMap((trace) =>
    trace.steps.map((step) => ({ at: step.from, record: runOf(trace, step) })),
  )
  const feedback = traces.flatMap(({ id, score }) => (score ? feedbackOf(id, score) : []))
  const { repeats = false, mostRows = 100 } = options

  function answer({ method, path, query, body }: PlatformCall): PlatformReply {
    switch (`${method} ${path}`) {
      case 'GET /api/v1/sessions': {
        const isKnown = query.get('name') === PROJECT_NAME || query.get('id') === PROJECT_ID
        return { json: isKnown ? [{ id: PROJECT_ID, name: PROJECT_NAME }] : [] }
      }
      case 'POST /api/v1/runs/query':
        return queryRuns(body)
      case 'GET /api/v1/feedback': {
        if (Number(query.get('limit')) > 100) return TOO_MANY
        const asked = new Set(query.getAll('run'))
        const found = feedback.filter(({ run_id: run }) => asked.has(run))
        const page = pageOf(found, {
          from: Number(query.get('offset')),
          limit: Number(query.get('limit')),
        })
        return { json: page.rows }
      }
      default:
        return { status: 404, json: { detail: 'Not Found' } }
    }
  }

  function queryRuns({ session, filter, limit, cursor = '0' }: RunQuery): PlatformReply {
    const window = /^and\(gte\(start_time, "(.+?)"\), lt\(start_time, "(.+?)"\)\)$/.exec(filter)
    if (!window || session[0] !== PROJECT_ID) return INVALID
    if (limit > 100) return TOO_MANY
    const found = inWindow(runs, [window[1], window[2]], repeats)
    const from = Number(cursor.replace('after ', ''))
    const page = pageOf(found, { from, limit: Math.min(limit, mostRows), repeats })
    return {
      json: {
        runs: page.rows.map(({ record }) => record),
        cursors: { next: page.hasMore ? `after ${page.next}` : null, prev: null },
      },
    }
  }

  const double = await startDouble(
    t,
    {
      isAllowed: (headers) => headers['x-api-key'] === PLATFORM_KEY,
      answer,
      hasCursor: ({ body }) => body?.cursor !== undefined,
      expiredStatus: 400,
    },
    options,
  )
  return Object.assign(double, { records: [...runs.map(({ record }) => record), ...feedback] })
}

function runOf(trace: PlatformTrace, { id, parent, kind, from, to, asked, answered }: Step) {
  const message = { role: 'assistant', content: answered }
  return {
    id,
    trace_id: trace.id,
    parent_run_id: parent,
    run_type: { agent: 'chain', llm: 'llm', tool: 'tool' }[kind],
    name: kind,
    session_id: PROJECT_ID,
    start_time: from.toISOString(),
    end_time: to.toISOString(),
    status: 'success',
    inputs: kind === 'llm' ? { messages: [{ role: 'user', content: asked }] } : { input: asked },
    outputs: kind === 'llm' ? { choices: [{ message }] } : { output: answered },
    extra: { metadata: { thread_id: trace.session, ls_model_name: 'gpt-4o' } },
  }
}

function feedbackOf(id: string, score: TraceScore) {
  return {
    id: score.id,
    run_id: id,
    trace_id: id,
    key: 'good',
    score: score.value,
    feedback_source: { type: 'app' },
    created_at: '2026-03-05T10:00:00Z',
    modified_at: '2026-03-05T10:00:00Z',
  }
}

interface RunQuery {
  readonly session: readonly string[]
  readonly filter: string
  readonly limit: number
  readonly cursor?: string
}

const INVALID = { status: 422, json: { detail: 'invalid query' } }
const TOO_MANY = { status: 400, json: { detail: 'limit must be at most 100' } }
