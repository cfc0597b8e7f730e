import { deleteTraces } from '../../jobs/delete-traces.ts'
import type { Checkpoint, Payload } from '../../jobs/job.ts'
import { traceBatches } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import { upsertAuditEvent } from '../../sql/org/audit-events.ts'
import { findRetention, listProjectsFrom } from '../../sql/org/organizations.ts'
import { removeTraces } from '../../sql/transactions/remove-traces.ts'
import type { TraceFilter } from '../../sql/traces/trace-filter.ts'
import { countTraces } from '../../sql/traces/trace-lists.ts'
import { walkTraces } from '../../sql/traces/trace-walks.ts'
import type { WalkedTrace } from '../../sql/traces/trace-walks.ts'
import { CONTINUE, handler } from '../runtime/handler.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'

/**
 * Walks through the traces of one project after the other, newest first: of those with the same conversation
 * the oldest, by which the others are judged, goes last.
 */
export function makeDeleteHandler({ sliceMs, rowsTogether }: DeleteOptions) {
  return handler(deleteTraces, async (payload, run) => {
    const { sql, orgId } = run
    const until = run.now().getTime() + sliceMs
    const isLate = () => run.now().getTime() >= until
    const deletion = await openDeletion(payload, run)
    const { filter } = deletion
    let cursor: Cursor = run.checkpointed ?? (await beginning(run, filter))
    let hasMoved = false
    for (const id of await listProjectsFrom(sql, orgId, filter.projectIds, cursor.project_id)) {
      if (hasMoved && isLate()) return CONTINUE
      if (id !== cursor.project_id) {
        cursor = { ...cursor, project_id: id, after: undefined }
        hasMoved = true
      }
      for (let isMore = true; isMore;) {
        if (await isKeptLonger(run, payload)) return countsOf(cursor)
        const { after } = cursor
        const walked = await walkTraces(sql, orgId, id, filter, { after, limit: rowsTogether })
        for (const step of stepsOf(walked)) {
          run.signal.throwIfAborted()
          cursor = await take(deletion, id, step, cursor)
        }
        hasMoved ||= walked.length > 0
        isMore = walked.length === rowsTogether
        if (isMore && isLate()) return CONTINUE
      }
    }
    return countsOf(cursor)
  })
}

export const deleteTracesHandler = makeDeleteHandler({ sliceMs: 30_000, rowsTogether: 2000 })

/** Whether the organization keeps its traces for longer now than when the job was requested. */
async function isKeptLonger({ sql, orgId }: Run, { kept_days }: DeletePayload) {
  if (kept_days === undefined) return false
  const days = await findRetention(sql, orgId)
  return days === null || days > kept_days
}

function countsOf({ matched, deleted }: Pick<Cursor, 'matched' | 'deleted'>) {
  return { matched_count: matched, deleted_count: deleted }
}

async function openDeletion(payload: DeletePayload, run: ResumableRun<Cursor>) {
  const { dry_run: isDry = false, project_ids: projectIds = null, created_before } = payload
  const filter: TraceFilter = { ...payload.filter, created_before, projectIds }
  return { run, filter, event: isDry ? undefined : await openEvent(payload, run) }
}

/** What is audited, but for the count. One event a job, so that it is right however the job ends. */
async function openEvent(payload: DeletePayload, { sql, orgId, jobId = '' }: Run) {
  const { filter, project_ids, kept_days } = payload
  const job = await findJob(sql, orgId, jobId)
  return {
    id: jobId,
    org_id: orgId,
    action: 'traces.deleted' as const,
    actor_key_id: job?.created_by ?? null,
    resource_id: jobId,
    data: { filter, project_ids, kept_days },
  }
}

/** Before the first trace, with how many there are where that is counted quickly. */
async function beginning({ sql, orgId }: Run, filter: TraceFilter): Promise<Cursor> {
  const total = await countTraces(sql, orgId, filter, { limit: MOST_COUNTED, withinMs: COUNT_MS })
  return { matched: 0, deleted: 0, ...(total !== null && { total }) }
}

/** Cuts what was walked into parts with as many matches as are deleted together, of which the last may have none. */
function* stepsOf(walked: readonly WalkedTrace[]) {
  const batches = [...traceBatches(walked.filter(({ matches }) => matches))]
  const last = walked.at(-1)
  for (const [n, batch] of batches.entries()) {
    const end = n === batches.length - 1 ? last : batch.at(-1)
    yield { traceIds: batch.map(({ trace_id }) => trace_id), end }
  }
  if (batches.length === 0) yield { traceIds: [], end: last }
}

/** Deletes the matches of a step, unless it is only to count them. @returns the cursor behind it */
async function take(
  { run, filter, event }: Deletion,
  projectId: string,
  { traceIds, end }: Step,
  cursor: Cursor,
) {
  const { queue, sql, orgId } = run
  return queue.transaction(sql, async (tx: Transaction) => {
    const project = { orgId, projectId }
    const removed = event ? await removeTraces(tx, queue, project, traceIds, filter) : 0
    const next = {
      ...cursor,
      after: end ? { started_at: end.started_at, trace_id: end.trace_id } : cursor.after,
      matched: cursor.matched + traceIds.length,
      deleted: cursor.deleted + removed,
    }
    if (event && removed > 0) {
      await upsertAuditEvent(tx, { ...event, data: { ...event.data, count: next.deleted } })
    }
    const total = next.total && Math.max(next.total, next.matched)
    await run.checkpoint(tx, { done: next.matched, total, unit: 'traces' }, next)
    return next
  })
}

const MOST_COUNTED = 100_000_000
const COUNT_MS = 5000

interface DeleteOptions {
  /** After which others have their turn. */
  readonly sliceMs: number
  /** Of an index, that are read together. */
  readonly rowsTogether: number
}

type DeletePayload = Payload<typeof deleteTraces>
type Cursor = Checkpoint<typeof deleteTraces>
type Deletion = Awaited<ReturnType<typeof openDeletion>>
type Step = ReturnType<typeof stepsOf> extends Generator<infer Each> ? Each : never
