import t from 'tap'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { deleteTracesHandler } from '../../../workers/maintenance/delete-traces.ts'
import { requestRetentions } from '../../../workers/maintenance/request-retentions.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { foldCounts } from '../../../sql/traces/count-changes.ts'
import { runCommand } from '../../support/command.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

t.test('traces that an organization does not keep any longer', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  await service.startWorkers([deleteTracesHandler, judgeTracesHandler, aggregateScoresHandler])

  const org = await service.makeOrganization()
  const other = await service.makeOrganization()
  for (const each of [org, other]) {
    await store(sql, each, `100 days ${each.orgId}`, 100)
    await store(sql, each, `31 days ${each.orgId}`, 31)
    await store(sql, each, `29 days ${each.orgId}`, 29)
    await store(sql, each, `new ${each.orgId}`, 0)
  }
  await storeJudged(sql, org, [{ trace_id: `restored ${org.orgId}` }])
  await sql`
    update traces set created_at = ${ago(400)}, restored_at = now() where trace_id like 'restored%'`
  while ((await foldCounts(sql, 1000)) > 0);
  const daysOf = async ({ orgId }: { orgId: string }) => {
    const rows = await sql<{ word: string }[]>`
      select split_part(trace_id, ' ', 1) as word from traces where org_id = ${orgId}
      order by created_at`
    return rows.map(({ word }) => word).join()
  }
  const sweep = () =>
    requestRetentions({ ...context, signal: new AbortController().signal } as never)
  const set = (days: string) => runCommand(service, 'org set-retention', { org: org.orgId, days })
  const { get } = service.client(org.key)

  t.equal(await sweep(), 0, 'nothing is deleted where no days are set')
  t.match(await get('/usage'), { body: { trace_retention_days: null } })
  await t.rejects(set('0'))
  await t.rejects(set('36501'))
  await t.rejects(
    runCommand(service, 'org set-retention', { org: org.projectId, days: '9' }),
    /no organization/,
  )

  t.same(await set('30'), { org_id: org.orgId, retention_days: 30 })
  t.match(await get('/usage'), { body: { trace_retention_days: 30 } })
  t.equal(await sweep(), 1)
  await until(async () => (await daysOf(org)) === 'restored,29,new')
  t.equal(await daysOf(other), '100,31,29,new', 'others keep theirs')
  const jobs = await until(async () => {
    const { body } = await get('/jobs?kind=traces.delete')
    return body.jobs[0]?.done && body.jobs
  })
  t.match(jobs, [{ result: { deleted_count: 2 } }], 'by the job that deletes those of a filter')
  const { body: log } = await get('/changelog?types=audit')
  t.match(log.events, [
    { title: '2 traces deleted', actor: { type: 'operator' }, data: { count: 2, kept_days: 30 } },
    { title: 'Traces are kept for 30 days' },
  ])

  t.equal(await sweep(), 0, 'once a day')
  await set('7')
  t.equal(await sweep(), 1, 'but at once where the days have changed')
  await until(async () => (await daysOf(org)) === 'restored,new')
  await set('none')
  t.match(await get('/usage'), { body: { trace_retention_days: null } })
  t.equal(await sweep(), 0)
})

t.test('a deletion by the days ends where they are more now', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const org = await service.makeOrganization()
  await store(sql, org, 'old', 20)
  while ((await foldCounts(sql, 1000)) > 0);
  const set = (days: string) => runCommand(service, 'org set-retention', { org: org.orgId, days })
  const { signal } = new AbortController()
  for (const [days, more] of [
    ['7', 'none'],
    ['8', '21'],
  ] as const) {
    await set(days)
    t.equal(await requestRetentions({ ...context, signal } as never), 1)
    await set(more)
  }
  await service.startWorkers([deleteTracesHandler])
  const { get } = service.client(org.key)
  const jobs = await until(async () => {
    const { body } = await get('/jobs?kind=traces.delete&state=succeeded')
    return body.jobs.length === 2 && body.jobs
  })
  t.match(jobs, [{ result: { deleted_count: 0 } }, { result: { deleted_count: 0 } }])
  t.match(await get('/traces/old'), { status: 200 })
})

/** Stores a trace as if it had come so many days ago. */
async function store(
  sql: Sql,
  org: { orgId: string; projectId: string },
  id: string,
  days: number,
) {
  const came = ago(days)
  await makePeriodsAt(sql, came)
  await storingIn(sql, `${came.slice(0, 7)}-01`, () => storeJudged(sql, org, [{ trace_id: id }]))
  await sql`update traces set created_at = ${came} where trace_id = ${id}`
}

function ago(days: number) {
  return new Date(Date.now() - days * 86_400_000).toISOString()
}
