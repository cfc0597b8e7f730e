import { isUuid } from '../../../jobs/rules/core/uuid.ts'
import { isObject } from '../../../jobs/rules/core/reader.ts'
import { withFollowUps } from './follow-ups.ts'
import { ProjectUnknown } from './platform.ts'
import type { PageAsk, Platform, Source } from './platform.ts'
import { textMember, textMembers } from './row-member.ts'

/** LangSmith: runs by `POST /api/v1/runs/query`, and the feedback of each page of them. */
export const langsmith: Platform = {
  pageRows: 100,
  headers: ({ workspace }, { api_key: key }) => ({
    ...(key && { 'x-api-key': key }),
    ...(workspace && { 'x-tenant-id': workspace }),
  }),
  open: (source) => ({
    begin: () => findProject(source),
    listPage: withFollowUps<FeedbackOf>(
      (ask) => listRuns(source, ask),
      (ask, followUp) => listFeedback(source, ask, followUp),
    ),
  }),
}

/** A session of LangSmith is a project. */
async function findProject({ connection: { project }, ask }: Source) {
  const query = { ...(isUuid(project) ? { id: project } : { name: project }), limit: 1 }
  const { rows } = await ask({ path: '/api/v1/sessions', query, rows: 'sessions' })
  const id = rows[0] && textMember(rows[0], ['id'])
  if (id === undefined) throw new ProjectUnknown()
  return id
}

async function listRuns(source: Source, { project, window, cursor, limit }: PageAsk) {
  const [from, to] = [window.from.toISOString(), window.to.toISOString()]
  const body = {
    session: [project],
    // Only a hint, and before the window: whether the bound itself belongs to it is nowhere said.
    start_time: new Date(window.from.getTime() - 1000).toISOString(),
    filter: `and(gte(start_time, "${from}"), lt(start_time, "${to}"))`,
    select: MEMBERS,
    limit,
    ...(cursor !== undefined && { cursor }),
  }
  const { rows, rest } = await source.ask({ path: '/api/v1/runs/query', body, rows: 'runs' })
  const cursors = rest['cursors']
  const next = isObject(cursors) ? cursors['next'] : undefined
  const runs = (await textMembers(rows, ['id'])).filter(isUuid)
  return {
    records: rows,
    next: typeof next === 'string' ? next : undefined,
    followUps: runs.length > 0 ? [{ runs, offset: 0 }] : [],
  }
}

async function listFeedback(source: Source, ask: PageAsk, { runs, offset }: FeedbackOf) {
  const limit = Math.min(ask.limit, MAX_FEEDBACK)
  const query = { run: runs, limit, offset }
  const { rows } = await source.ask({ path: '/api/v1/feedback', query, rows: 'feedback' })
  const more = rows.length < limit ? undefined : { runs, offset: offset + rows.length }
  return { records: rows, more }
}

interface FeedbackOf {
  readonly runs: readonly string[]
  readonly offset: number
}

/** Most that LangSmith gives at once. */
const MAX_FEEDBACK = 100
/** What is asked of each run: what LangSmith's own clients ask for. */
const MEMBERS = [
  'app_path',
  'completion_cost',
  'completion_tokens',
  'dotted_order',
  'end_time',
  'error',
  'events',
  'extra',
  'feedback_stats',
  'first_token_time',
  'id',
  'inputs',
  'name',
  'outputs',
  'parent_run_id',
  'parent_run_ids',
  'prompt_cost',
  'prompt_tokens',
  'reference_example_id',
  'run_type',
  'session_id',
  'start_time',
  'status',
  'tags',
  'total_cost',
  'total_tokens',
  'trace_id',
]
