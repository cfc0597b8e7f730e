import t from 'tap'
import { rewriteTracesHandler } from '../../workers/maintenance/rewrite-traces.ts'
import { runCommand } from '../support/command.ts'
import { openService } from '../support/service.ts'
import { storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'

t.test('rewrite-traces', async (t) => {
  const service = await openService(t, { contentForm: 'shared' })
  const { sql } = service
  const [a, b, empty] = [
    await service.makeOrganization(),
    await service.makeOrganization(),
    await service.makeOrganization(),
  ]
  for (const org of [a, b]) await storeJudged(sql, org, [{ trace_id: 't' }])
  const run = (options: object = {}) =>
    runCommand(service, 'rewrite-traces', options) as Promise<Answer>

  await t.test('gives the projects of an organization a job, once', async (t) => {
    const started = await run({ org: a.orgId })
    t.match(started, { started: 1, under_way: 0, jobs: [{ project_id: a.projectId }] })
    const [job] = started.jobs
    await sql`update jobs set progress_done = 7, progress_total = 9 where id = ${job?.job_id ?? ''}`
    t.same(await run({ org: a.orgId }), {
      started: 0,
      under_way: 1,
      jobs: [{ ...job, state: 'queued', done: 7, total: 9 }],
    })
    t.match(await run({ org: empty.orgId }), { started: 0, under_way: 0, jobs: [] })
    await t.rejects(run({ org: a.projectId }), /There is no organization/)
  })

  await t.test('gives all projects with traces one, and again once it has ended', async (t) => {
    t.match(await run(), { started: 1, under_way: 1 })
    await service.startWorkers([rewriteTracesHandler])
    await until(async () => {
      const [open] = await sql`select 1 from jobs where finished_at is null`
      return open === undefined
    })
    t.match(await run({ org: b.orgId }), { started: 1, under_way: 0 })
  })
})

interface Answer {
  readonly started: number
  readonly under_way: number
  readonly jobs: readonly { readonly job_id: string; readonly project_id: string }[]
}
