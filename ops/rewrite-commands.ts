import { rewriteTraces } from '../jobs/rewrite-traces.ts'
import { OPEN_JOB_STATES } from '../jobs/rules/jobs/job-state.ts'
import type { Queue } from '../jobs/queue.ts'
import { shape, uuid } from '../jobs/shape.ts'
import type { Sql } from '../sql/core/db.ts'
import { findOrganization } from '../sql/org/organizations.ts'
import { findContentForm } from '../sql/traces/content-form.ts'
import { listProjectJobs } from '../sql/traces/rewritten-contents.ts'
import type { ProjectJob } from '../sql/traces/rewritten-contents.ts'
import { submitJob } from '../sql/transactions/submit-job.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { noOrganization, OperatorError } from './operator-error.ts'

export const rewriteCommands: readonly Command[] = [
  command('rewrite-traces', {
    usage:
      '[--org ID] # stores the contents of older releases so that they open faster; where that is under way, says how far it is',
    options: shape({}, { org: uuid() }),
    async run({ org: orgId }, { database }) {
      const { sql } = await database()
      if (orgId && !(await findOrganization(sql, orgId))) throw noOrganization(orgId)
      if ((await findContentForm(sql)) !== 'shared') throw new OperatorError(UNFINISHED)
      return withBoss(sql, (boss) => requestAll(sql, openProcessQueue(boss, sql), orgId))
    },
  }),
]

/** A job for each project that has none under way. */
async function requestAll(sql: Sql, queue: Queue, orgId: string | undefined) {
  const jobs: ProjectJob[] = []
  const counts = { started: 0, under_way: 0 }
  let page: readonly ProjectJob[]
  let after = FIRST
  do {
    page = await listProjectJobs(sql, rewriteTraces.name, { orgId, after, limit: PAGE })
    for (const project of page) {
      const isOpen = OPEN_JOB_STATES.some((state) => state === project.state)
      counts[isOpen ? 'under_way' : 'started']++
      const job = isOpen ? project : await request(sql, queue, project)
      if (jobs.length < JOBS_SHOWN) jobs.push(job)
    }
    after = page.at(-1)?.project_id ?? after
  } while (page.length === PAGE)
  return { ...counts, jobs }
}

async function request(
  sql: Sql,
  queue: Queue,
  { org_id, project_id }: ProjectJob,
): Promise<ProjectJob> {
  const submission = { orgId: org_id, projectId: project_id, createdBy: null }
  const job_id = await submitJob(sql, queue, rewriteTraces, { project_id }, submission)
  return { org_id, project_id, job_id, state: 'queued', done: 0, total: null }
}

const UNFINISHED =
  'The database may still serve a release that cannot read what this would write. Finish the upgrade first, and start the processes again.'
/** Before every id. */
const FIRST = '00000000-0000-0000-0000-000000000000'
const PAGE = 500
const JOBS_SHOWN = 100
