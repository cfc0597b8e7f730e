import t from 'tap'
import { findJob } from '../../../sql/jobs/jobs.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { applyRepairHandler } from '../../../workers/regression/apply-repair.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { callingRow } from '../../support/calling-rows.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { watchHandler } from '../../support/watched-handler.ts'

t.test('a repair', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** An agent whose traces have a number that the next version wants as text. */
  async function setup(count: number, messages: readonly object[] = []) {
    const { org, client, register } = await makeAgent(service)
    const before = await register([toolComponent('a', { n: { type: 'integer' } })])
    const after = await register([toolComponent('a', { n: { type: 'string' } })])
    await sql`delete from pgboss.job`
    const rows = Array.from({ length: count }, (_, n) =>
      callingRow(org, { manifest_id: before.manifest_id, ageSeconds: n, n, messages }),
    )
    await insertTraces(sql, rows)
    const pair = { old_manifest_id: before.manifest_id, new_manifest_id: after.manifest_id }
    const traceIds = rows.map(({ trace_id }) => trace_id)
    return {
      org,
      traceIds,
      pair,
      async apply() {
        const answer = await client.post('/repair/apply', pair, { prefer: 'respond-async' })
        return answer.body as { batch_id: string; job_id: string }
      },
      async job(id: string) {
        const row = await findJob(sql, org.orgId, id)
        if (!row) throw new Error('The job is gone')
        return row
      },
      show: async (batchId: string) => (await client.get(`/repair/${batchId}`)).body,
      async countRevisions() {
        const [row] = await sql<{ n: number }[]>`
          select count(*) as n from trace_revisions where org_id = ${org.orgId}`
        return row?.n
      },
    }
  }

  /** Who waits for a table, to write to it or to lock its rows, which autovacuum does not. */
  const waiting = (table: string) => sql<{ pid: number }[]>`
    select pid from pg_locks
    where relation = ${table}::regclass and not granted
      and mode in ('RowShareLock', 'RowExclusiveLock')
      and database = (select oid from pg_database where datname = current_database())`
  const waitsFor = (table: string) => until(async () => (await waiting(table)).length > 0)

  t.test('that is stopped goes on after its last page and counts each trace once', async (t) => {
    const { org, apply, job, show, countRevisions } = await setup(2500)
    const { batch_id, job_id } = await apply()
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table trace_revisions in share mode`
    const watched = watchHandler(applyRepairHandler)
    const first = await service.startWorkers([watched.handler])
    await waitsFor('trace_revisions')
    const stopping = first.stop()
    await watched.aborted()
    await holder`rollback`
    holder.release()
    await stopping
    t.match(await job(job_id), { state: 'queued', interruptions: 1, progress_done: 1000 })
    t.match(await show(batch_id), { status: 'queued', repaired_count: 1000, completed_at: null })

    const second = await service.startWorkers([applyRepairHandler])
    await until(async () => (await job(job_id)).finished_at !== null)
    await second.stop()
    t.match(await job(job_id), { state: 'succeeded', result: { repaired_count: 2500 } })
    t.match(await show(batch_id), {
      status: 'completed',
      total_episodes: 2500,
      repaired_count: 2500,
      rules_applied: [{ rule_type: 'coerce', used_by: 2500 }],
    })
    t.equal(await countRevisions(), 2500)
    const rules = await sql`select distinct rules from trace_revisions where org_id = ${org.orgId}`
    t.same(rules, [{ rules: [0] }], 'by index: a default value in a rule may be long')
  })

  t.test('whose worker loses its connection writes a page whole or not at all', async (t) => {
    const { apply, job, show, countRevisions } = await setup(3)
    const { batch_id, job_id } = await apply()
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table repair_batches in share mode`
    const worker = await service.startWorkers([applyRepairHandler])
    await waitsFor('repair_batches')
    t.equal(await countRevisions(), 0)
    for (const { pid } of await waiting('repair_batches')) {
      await sql`select pg_terminate_backend(${pid}::int)`
    }
    await holder`rollback`
    holder.release()
    await until(async () => (await job(job_id)).finished_at !== null)
    await worker.stop()
    t.match(await job(job_id), { state: 'succeeded', attempt: 2 })
    t.match(await show(batch_id), { total_episodes: 3, repaired_count: 3 })
    t.equal(await countRevisions(), 3)
  })

  t.test('keeps nothing of a trace that was changed or deleted after it was read', async (t) => {
    const { apply, job, show, traceIds, org } = await setup(3)
    const [changed, deleted] = traceIds as [string, string]
    const { batch_id, job_id } = await apply()
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table traces in exclusive mode`
    const worker = await service.startWorkers([applyRepairHandler])
    await waitsFor('traces')
    await holder`
      update traces set revision = revision + 1
      where org_id = ${org.orgId} and trace_id = ${changed}`
    await holder`delete from traces where org_id = ${org.orgId} and trace_id = ${deleted}`
    await holder`commit`
    holder.release()
    await until(async () => (await job(job_id)).finished_at !== null)
    t.match(await show(batch_id), { total_episodes: 3, repaired_count: 1, failed_count: 2 })
    const { failures } = await show(batch_id)
    t.same(
      new Set(failures.map((each: object) => JSON.stringify(each))),
      new Set(
        [changed, deleted].map((trace_id) => JSON.stringify({ trace_id, code: 'trace_changed' })),
      ),
    )
    const again = await apply()
    await until(async () => (await job(again.job_id)).finished_at !== null)
    t.match(await show(again.batch_id), { total_episodes: 2, repaired_count: 2 })
    await worker.stop()
  })

  t.test('neither opens nor counts a trace that ended the thread before', async (t) => {
    const { apply, job, show, traceIds, org } = await setup(2)
    await sql`
      insert into trace_examinations (org_id, project_id, trace_id, is_searched, given_up)
      values (${org.orgId}, ${org.projectId}, ${traceIds[0] as string}, true, true)`
    const { batch_id, job_id } = await apply()
    const worker = await service.startWorkers([applyRepairHandler])
    await until(async () => (await job(job_id)).finished_at !== null)
    await worker.stop()
    t.match(await show(batch_id), {
      total_episodes: 1,
      repaired_count: 1,
      failed_count: 0,
      failures: [],
    })
  })

  t.test('names its first 1,000 failures', async (t) => {
    const unfit = { name: 'a', arguments: '{"n":{}}' }
    const { apply, job, show } = await setup(1002, [
      { role: 'assistant', tool_calls: [{ function: unfit }] },
    ])
    const { batch_id, job_id } = await apply()
    const worker = await service.startWorkers([applyRepairHandler])
    await until(async () => (await job(job_id)).finished_at !== null)
    await worker.stop()
    const { failed_count, failures } = await show(batch_id)
    t.equal(failed_count, 1002)
    t.equal(failures.length, 1000)
  })

  t.test('fails when its rules are those of another engine', async (t) => {
    const { apply, job, show, countRevisions } = await setup(1)
    const { batch_id, job_id } = await apply()
    await sql`update repair_batches set engine_version = 'other' where id = ${batch_id}`
    const worker = await service.startWorkers([applyRepairHandler])
    await until(async () => (await job(job_id)).finished_at !== null)
    await worker.stop()
    t.match(await job(job_id), { state: 'failed', error: { code: 'rules_changed' } })
    t.match(await show(batch_id), { status: 'failed', repaired_count: 0 })
    t.equal(await countRevisions(), 0)
  })
})
