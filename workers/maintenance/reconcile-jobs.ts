import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { jobs } from '../../jobs/index.ts'
import { requestDeletion } from '../../jobs/delete-organization.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { reconcileJobs } from '../../jobs/reconcile-jobs.ts'
import { requestSettling } from '../../jobs/settle-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listDirtyProjects } from '../../sql/jobs/retention.ts'
import { listDeletedOrganizations } from '../../sql/org/deleted-organizations.ts'
import { takeCorrected } from '../../sql/traces/corrected-traces.ts'
import { listDueProjects } from '../../sql/traces/settling.ts'
import { addStems } from '../../sql/traces/trace-search.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { settleOrphanedJobs } from './settle-orphaned-jobs.ts'

export const reconcileJobsHandler = handler(reconcileJobs, async (_, run) => {
  await settleOrphanedJobs(run, jobs, 'all')
  await requestLeftAggregations(run)
  await requestDueSettlings(run)
  await addLeftStems(run)
  await judgeCorrected(run)
  await requestDeletions(run)
})

/** Requests the aggregation of what is still marked because an earlier one was given up. */
async function requestLeftAggregations({ queue, sql, signal }: Run) {
  for (const { org_id, project_id } of await listDirtyProjects(sql, PROJECTS_A_RUN)) {
    signal.throwIfAborted()
    await queue.transaction(sql, (tx: Transaction) =>
      requestAggregation(queue, tx, org_id, project_id),
    )
  }
}

/** Requests the settling of traces whose spans stopped to come before the one that holds all others. */
async function requestDueSettlings({ queue, sql, signal }: Run) {
  for (const { org_id, project_id } of await listDueProjects(sql, PROJECTS_A_RUN)) {
    signal.throwIfAborted()
    await queue.transaction(sql, (tx: Transaction) =>
      requestSettling(queue, tx, org_id, project_id, 0),
    )
  }
}

/** Brings the search rows up to date that older processes have written, a page in each transaction. */
async function addLeftStems({ sql, log, signal }: Run) {
  let added = 0
  for (let page = 0; page < STEM_PAGES_A_RUN; page++) {
    signal.throwIfAborted()
    const count = await addStems(sql, STEM_PAGE)
    added += count
    if (count < STEM_PAGE) break
  }
  if (added > 0) log.info({ added }, 'search rows were given stems')
}

/** Has traces judged anew that were corrected before corrections changed decisions. */
async function judgeCorrected({ queue, sql, log }: Run) {
  const count = await queue.transaction(sql, async (tx: Transaction) => {
    const taken = await takeCorrected(tx, CORRECTED_A_RUN)
    for (const traces of Map.groupBy(taken, ({ project_id }) => project_id).values()) {
      const [{ org_id, project_id }] = traces as [(typeof taken)[number]]
      const ids = traces.map(({ trace_id }) => trace_id)
      await enqueueTraces(queue, tx, judgeTraces, org_id, project_id, ids)
    }
    return taken.length
  })
  if (count > 0) log.info({ count }, 'corrected traces are judged anew')
}

/** Has the deletion of organizations gone on with that was given up, or whose request was lost. */
async function requestDeletions({ queue, sql }: Run) {
  const orgIds = await listDeletedOrganizations(sql, DELETIONS_A_RUN)
  await queue.transaction(sql, async (tx: Transaction) => {
    for (const orgId of orgIds) await requestDeletion(queue, tx, orgId)
  })
}

const PROJECTS_A_RUN = 1000
const DELETIONS_A_RUN = 100
const STEM_PAGE = 1000
/** Half a minute's work at most, so that the next run is not late. */
const STEM_PAGES_A_RUN = 50
const CORRECTED_A_RUN = 5000
