import type { Test } from 'tap'
import { randomOf } from '../random.ts'
import { inWindow, pageOf, startDouble } from './double.ts'
import type { DoubleOptions, PlatformCall, PlatformReply } from './double.ts'
import { PLATFORM_KEY, PROJECT_ID, PROJECT_NAME, PUBLIC_KEY } from './connection.ts'
import type { PlatformTrace, Step, TraceScore } from './platform-traces.ts'

/**
 * Langfuse, whose keys are those of one project: observations and scores by cursors.
 * @param isOld only the lists by page numbers are there, of traces, observations and scores
 */
export async function startLangfuse(
  t: Test,
  traces: readonly PlatformTrace[],
  { isOld = false, ...options }: DoubleOptions & { readonly isOld?: boolean } = {},
) {
  const observations = traces.flatMap((trace) =>
    trace.steps.map((step) => ({
      at: step.from,
      record: { ...observationOf(trace, step), ...(!isOld && newMembers(trace, step)) },
    })),
  )
  const scores = traces.flatMap((trace) => {
    const record = trace.score && scoreOf(trace, trace.score, isOld)
    return record ? { at: rootOf(trace).to, record } : []
  })
  const rows = traces.map((trace) => ({ at: rootOf(trace).from, record: traceOf(trace) }))
  const { repeats = false, mostRows = 1000 } = options
  const random = randomOf(options.seed ?? 1)

  function answer({ method, path, query }: PlatformCall): PlatformReply {
    const byTime = { from: query.get('fromStartTime'), to: query.get('toStartTime') }
    const byTimestamp = { from: query.get('fromTimestamp'), to: query.get('toTimestamp') }
    switch (`${isOld ? 'old' : 'new'} ${method} ${path}`) {
      case 'new GET /api/public/projects':
      case 'old GET /api/public/projects':
        return { json: { data: [{ id: PROJECT_ID, name: PROJECT_NAME }] } }
      case 'new GET /api/public/v2/observations':
        return pageBy('cursor', observations, byTime, query, 1000)
      case 'new GET /api/public/v3/scores':
        return pageBy('cursor', scores, byTimestamp, query, 100)
      case 'old GET /api/public/traces':
        return pageBy('page', rows, byTimestamp, query, 100)
      case 'old GET /api/public/observations':
        return pageBy('page', observations, byTime, query, 100)
      case 'old GET /api/public/scores':
      case 'old GET /api/public/v2/scores':
        return pageBy('page', scores, byTimestamp, query, 100)
      default:
        return { status: 404, json: { message: 'Not Found' } }
    }
  }

  function pageBy(
    kind: 'cursor' | 'page',
    listed: readonly { at: Date; record: object }[],
    { from, to }: { from: string | null; to: string | null },
    query: URLSearchParams,
    most: number,
  ): PlatformReply {
    const asked = Number(query.get('limit') ?? 50)
    if (asked > most) return { status: 400, json: { message: 'Invalid request data' } }
    const limit = Math.min(asked, mostRows)
    const matching = inWindow(listed, [from, to], repeats)
    const found = kind === 'page' ? byTimeAlone(matching, random) : matching
    const begin =
      kind === 'page' ? (Number(query.get('page') ?? 1) - 1) * limit : cursorOf(query.get('cursor'))
    const page = pageOf(found, { from: begin, limit, repeats })
    const data = page.rows.map(({ record }) => record)
    const totalPages = Math.ceil(found.length / limit)
    const pages = { page: Number(query.get('page') ?? 1), totalItems: found.length, totalPages }
    const cursor = page.hasMore && Buffer.from(`after ${page.next}`).toString('base64')
    return { json: { data, meta: { limit, ...(kind === 'page' ? pages : cursor && { cursor }) } } }
  }

  const double = await startDouble(
    t,
    {
      isAllowed: ({ authorization }) => authorization === AUTHORIZATION,
      answer,
      // Numbered pages do not expire, but may be refused: the window begins again all the same, except at
      // its first page of the first list.
      hasCursor: ({ path, query }) =>
        query.has('cursor') || (query.has('page') && path !== '/api/public/traces'),
      expiredStatus: 400,
    },
    options,
  )
  const recordsOf = (list: readonly { record: object }[]) => list.map(({ record }) => record)
  return Object.assign(double, {
    records: [...(isOld ? recordsOf(rows) : []), ...recordsOf(observations), ...recordsOf(scores)],
  })
}

/** Rows of one time are in another order at each request, since nothing else orders them. */
function byTimeAlone<Row extends { at: Date }>(rows: readonly Row[], random: () => number) {
  return rows
    .map((row) => ({ row, place: random() }))
    .sort((a, b) => a.row.at.getTime() - b.row.at.getTime() || a.place - b.place)
    .map(({ row }) => row)
}

function cursorOf(cursor: string | null) {
  return Number(
    Buffer.from(cursor ?? '', 'base64')
      .toString()
      .replace('after ', ''),
  )
}

function rootOf({ steps: [root] }: PlatformTrace) {
  return root as Step
}

function traceOf(trace: PlatformTrace) {
  const { from, asked, answered } = rootOf(trace)
  return {
    id: trace.id,
    projectId: PROJECT_ID,
    name: 'agent',
    timestamp: from.toISOString(),
    sessionId: trace.session,
    bookmarked: false,
    public: false,
    tags: [],
    input: asked,
    output: answered,
    metadata: {},
  }
}

function observationOf(trace: PlatformTrace, step: Step) {
  const isModel = step.kind === 'llm'
  return {
    id: step.id,
    traceId: trace.id,
    projectId: PROJECT_ID,
    parentObservationId: step.parent,
    type: { agent: 'AGENT', llm: 'GENERATION', tool: 'TOOL' }[step.kind],
    name: step.kind,
    level: 'DEFAULT',
    environment: 'default',
    startTime: step.from.toISOString(),
    endTime: step.to.toISOString(),
    input: isModel ? JSON.stringify([{ role: 'user', content: step.asked }]) : step.asked,
    output: isModel ? JSON.stringify({ role: 'assistant', content: step.answered }) : step.answered,
    metadata: {},
    ...(isModel && { usageDetails: { input: 11, output: 4, total: 15 } }),
  }
}

/** What observations have since they tell of their trace as well. */
function newMembers(trace: PlatformTrace, { parent, kind }: Step) {
  return {
    sessionId: trace.session,
    isRootObservation: parent === null,
    ...(kind === 'llm' && { providedModelName: 'gpt-4o' }),
  }
}

function scoreOf(trace: PlatformTrace, score: TraceScore, isOld: boolean) {
  return {
    id: score.id,
    projectId: PROJECT_ID,
    name: 'good',
    value: score.value,
    dataType: 'NUMERIC',
    source: 'ANNOTATION',
    environment: 'default',
    timestamp: rootOf(trace).to.toISOString(),
    ...(isOld ? { traceId: trace.id } : { subject: { kind: 'trace', id: trace.id } }),
  }
}

const AUTHORIZATION = `Basic ${Buffer.from(`${PUBLIC_KEY}:${PLATFORM_KEY}`).toString('base64')}`
