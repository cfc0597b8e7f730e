import type { Test } from 'tap'
import { inWindow, pageOf, startDouble } from './double.ts'
import type { DoubleOptions, PlatformCall, PlatformReply } from './double.ts'
import { PLATFORM_KEY, PROJECT_NAME } from './connection.ts'
import type { PlatformTrace, Step, TraceScore } from './platform-traces.ts'

/** Phoenix with one project: its spans, and the annotations of spans and traces. */
export async function startPhoenix(
  t: Test,
  traces: readonly PlatformTrace[],
  options: DoubleOptions = {},
) {
  // The newest first, as Phoenix lists them.
  const spans = traces
    .flatMap((trace) => trace.steps.map((step) => ({ at: step.from, record: spanOf(trace, step) })))
    .reverse()
  const annotations = traces.flatMap(({ id, score }, i) =>
    score ? [annotationOf(id, score, i)] : [],
  )
  const { repeats = false, mostRows = 1000 } = options

  function answer({ path, query }: PlatformCall): PlatformReply {
    const [, , , project = '', list] = path.split('/').map(decodeURIComponent)
    if (!path.startsWith('/v1/projects/')) return { status: 404, json: { detail: 'Not Found' } }
    if (project !== PHOENIX_ID && project !== PROJECT_NAME) return UNKNOWN
    if (list === undefined) return { json: { data: { id: PHOENIX_ID, name: PROJECT_NAME } } }
    const limit = Number(query.get('limit'))
    if (limit > 1000) return INVALID
    const from = Number(query.get('cursor')?.replace('after ', '') ?? 0)
    const page = (rows: readonly unknown[], most: number) => {
      const { rows: data, hasMore, next } = pageOf(rows, { from, limit: most, repeats })
      return { json: { data, next_cursor: hasMore ? `after ${next}` : null } }
    }
    if (list === 'spans') {
      const found = inWindow(spans, [query.get('start_time'), query.get('end_time')], repeats)
      return page(
        found.map(({ record }) => record),
        Math.min(limit, mostRows),
      )
    }
    const of = /^(span|trace)_annotations$/.exec(list)?.[1]
    const asked = new Set(query.getAll(`${of}_ids`))
    if (asked.size === 0) return INVALID
    const found = annotations.filter((each) => asked.has(String(each[`${of}_id`])))
    return found.length > 0 || of === 'span' ? page(found, limit) : UNKNOWN
  }

  const double = await startDouble(
    t,
    {
      isAllowed: ({ authorization }) => authorization === `Bearer ${PLATFORM_KEY}`,
      answer,
      hasCursor: ({ query }) => query.has('cursor'),
      expiredStatus: 422,
    },
    options,
  )
  return Object.assign(double, { records: [...spans.map(({ record }) => record), ...annotations] })
}

function spanOf(trace: PlatformTrace, step: Step) {
  const { kind } = step
  const message = 'message.content'
  return {
    id: `U3Bhbjo${spanId(step.id)}`,
    name: kind,
    context: { trace_id: traceId(trace.id), span_id: spanId(step.id) },
    span_kind: { agent: 'AGENT', llm: 'LLM', tool: 'TOOL' }[kind],
    parent_id: step.parent === null ? null : spanId(step.parent),
    start_time: step.from.toISOString(),
    end_time: step.to.toISOString(),
    status_code: 'OK',
    status_message: '',
    attributes: {
      'session.id': trace.session,
      'input.value': step.asked,
      'output.value': step.answered,
      ...(kind === 'llm' && {
        'llm.model_name': 'gpt-4o',
        'llm.input_messages.0.message.role': 'user',
        [`llm.input_messages.0.${message}`]: step.asked,
        'llm.output_messages.0.message.role': 'assistant',
        [`llm.output_messages.0.${message}`]: step.answered,
      }),
    },
    events: [],
  }
}

/** Of the trace, or of its root, by turns. */
function annotationOf(id: string, score: TraceScore, i: number): Record<string, unknown> {
  return {
    ...(i % 2 === 0 ? { trace_id: traceId(id) } : { span_id: spanId(id) }),
    id: `annotation ${score.id}`,
    name: 'good',
    annotator_kind: 'HUMAN',
    result: { label: null, score: score.value, explanation: null },
    metadata: {},
    identifier: '',
    source: 'APP',
    created_at: '2026-03-05T10:00:00Z',
    updated_at: '2026-03-05T10:00:00Z',
  }
}

function traceId(uuid: string) {
  return uuid.replaceAll('-', '')
}

function spanId(uuid: string) {
  return traceId(uuid).slice(-16)
}

const PHOENIX_ID = 'UHJvamVjdDox'
const UNKNOWN = { status: 404, json: { detail: 'not found' } }
const INVALID = { status: 422, json: { detail: 'invalid parameters' } }
