import t from 'tap'
import { findJob } from '../../../sql/jobs/jobs.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { analyzeCompatibilityHandler } from '../../../workers/regression/analyze-compatibility.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { callingRow } from '../../support/calling-rows.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { watchHandler } from '../../support/watched-handler.ts'

t.test('an analysis that is stopped goes on after its last page', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { org, client, register } = await makeAgent(service)
  const before = await register([toolComponent('a', { n: { type: 'integer' } })])
  const maximum = 99
  const after = await register([toolComponent('a', { n: { type: 'integer', maximum } })])
  await sql`delete from pgboss.job where name = 'compat.analyze'`
  // Of 200 traces in a row the first 100 fit the new maximum.
  await insertTraces(
    sql,
    Array.from({ length: 3500 }, (_, n) =>
      callingRow(org, { manifest_id: before.manifest_id, ageSeconds: n, n: n % 200 }),
    ),
  )

  const path = `/manifests/${after.manifest_id}/compatibility/run`
  const body = { old_manifest_id: before.manifest_id }
  const { job_id, report_id } = (await client.post(path, body, { prefer: 'respond-async' })).body
  const job = async () => {
    const row = await findJob(sql, org.orgId, job_id)
    if (!row) throw new Error('The job is gone')
    return row
  }

  const holder = await sql.reserve()
  await holder`begin`
  await holder`lock table compat_findings in share mode`
  const watched = watchHandler(analyzeCompatibilityHandler)
  const first = await service.startWorkers([watched.handler])
  await until(() => countLockWaits(sql, { table: 'compat_findings' }))
  const stopping = first.stop()
  await watched.aborted()
  await holder`rollback`
  holder.release()
  await stopping
  const stopped = await job()
  t.match(stopped, { state: 'queued', interruptions: 1 })
  t.ok(stopped.progress_done >= 1000 && stopped.progress_done < 3500, 'in the middle')

  await service.startWorkers([analyzeCompatibilityHandler])
  await until(async () => (await job()).finished_at !== null)
  t.match(await job(), { state: 'succeeded', result: { total_episodes: 3500 } })
  const report = await client.get(`/manifests/${after.manifest_id}/compatibility/${report_id}`)
  t.match(report.body, { total_episodes: 3500, keep: 1800, replay: 1700, status: 'completed' })
  const [counted] = await sql<{ n: number }[]>`
    select count(*) as n from compat_episodes where report_id = ${report_id}`
  t.equal(counted?.n, 3500, 'each trace once')
})
