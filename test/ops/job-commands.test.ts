import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { importTraces } from '../../jobs/import-traces.ts'
import { buildDataset } from '../../jobs/build-dataset.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { JobRow } from '../../sql/jobs/jobs.ts'
import { submitJob } from '../../sql/transactions/submit-job.ts'
import { runCommand } from '../support/command.ts'
import { openService } from '../support/service.ts'

t.test('the operator and the jobs of all organizations', async (t) => {
  const service = await openService(t)
  const { sql, boss, context } = service
  const run = (name: string, options: object = {}) => runCommand(service, name, options)
  const list = async (options: object = {}) => {
    const found = (await run('jobs list', options)) as {
      jobs: JobRow[]
      next_cursor: string | null
    }
    return { ...found, ids: found.jobs.map(({ id }) => id) }
  }

  async function submit(orgId: string, projectId: string) {
    const payload = { version_id: randomUUIDv7() }
    return context.queue.transaction(sql, (tx: Transaction) =>
      submitJob(tx, context.queue, buildDataset, payload, { orgId, projectId, createdBy: null }),
    )
  }
  const [a, b] = [await service.makeOrganization(), await service.makeOrganization()]
  const [first, second] = [await submit(a.orgId, a.projectId), await submit(b.orgId, b.projectId)]
  const failed = await submit(b.orgId, b.projectId)
  await sql`
    update jobs set state = 'failed', started_at = now(), finished_at = now(),
      error = '{"code": "secret_unreadable", "message": "x", "retryable": false}' where id = ${failed}`

  t.test('are listed newest first, by organization, kind, state, error and age', async (t) => {
    t.same((await list()).ids, [failed, second, first])
    t.same((await list({ org: a.orgId })).ids, [first])
    t.same((await list({ state: 'failed' })).ids, [failed])
    t.same((await list({ error: 'secret_unreadable' })).ids, [failed])
    t.same((await list({ error: 'other' })).ids, [])
    t.same((await list({ kind: importTraces.name })).ids, [])
    t.same((await list({ since: new Date(Date.now() + 60_000).toISOString() })).ids, [])
    t.notOk('request' in ((await list()).jobs[0] ?? {}))
  })

  t.test('are listed page by page', async (t) => {
    const page = await list({ limit: 2 })
    t.same(page.ids, [failed, second])
    const last = await list({ limit: 2, cursor: page.next_cursor })
    t.match(last, { ids: [first], next_cursor: null })
    await t.rejects(run('jobs list', { cursor: 'x' }), /not one that jobs list gave/)
  })

  t.test('are found by an index, however many there are', async (t) => {
    const plan = await sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`
      return tx`explain select id from jobs order by created_at desc, id desc limit 10`
    })
    t.match(JSON.stringify(plan), /Index.*jobs_recent/)
  })

  t.test('are shown with their attempts and their row in the queue', async (t) => {
    t.match(await run('jobs show', { id: first }), {
      job: { id: first, org_id: a.orgId, request: { version_id: /-/ } },
      attempts: [],
      queue_row: { state: 'created', priority: 0, data: { org_id: a.orgId, job_id: first } },
    })
    await t.rejects(run('jobs show', { id: randomUUIDv7() }), /There is no job/)
  })

  t.test('go before others when they wait', async (t) => {
    t.match(await run('jobs set-priority', { id: second, priority: 1 }), { priority: 1 })
    const [taken] = await boss.fetch<{ job_id: string }>(buildDataset.name)
    t.equal(taken?.data.job_id, second)
    const late = run('jobs set-priority', { id: second, priority: 2 })
    await t.rejects(late, /does not wait in its queue/)
  })

  t.test('are canceled, which their organization is told', async (t) => {
    t.match(await run('jobs cancel', { id: first }), { state: 'canceled', org_id: a.orgId })
    t.match(await run('jobs cancel', { id: first }), { state: 'canceled' })
    const { body } = await service.client(a.key).get('/changelog?types=audit')
    t.match(body.events, [{ title: "Job 'dataset.build' canceled", actor: { type: 'operator' } }])
    t.equal(body.events.length, 1)
    await t.rejects(run('jobs cancel', { id: failed }), /has failed already/)
  })
})
