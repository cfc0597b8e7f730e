import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { deleteExpired } from '../../../jobs/delete-expired.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { deleteExpiredHandler } from '../../../workers/maintenance/delete-expired.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('retention', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const org = await service.makeOrganization()
  await service.startWorkers([deleteExpiredHandler])

  async function makeJobs(count: number, endedDaysAgo: number) {
    const rows = await sql<{ id: string }[]>`
      insert into jobs
        (org_id, id, project_id, kind, queue_job_id, state, started_at, created_at, finished_at)
      select ${org.orgId}, gen_random_uuid(), ${org.projectId}, 'import.run', gen_random_uuid(),
        'succeeded', now(), now() - interval '40 days', now() - ${endedDaysAgo} * interval '1 day'
      from generate_series(1, ${count}) returning id`
    await sql`
      insert into job_attempts (org_id, job_id, attempt, worker, ended_at, outcome)
      select ${org.orgId}, id, 1, 'w', now(), 'succeeded'
      from unnest(${rows.map(({ id }) => id)}::uuid[]) id`
    return rows.map(({ id }) => id)
  }

  async function makeImport(jobId: string) {
    const key = `imports/${randomUUIDv7()}`
    await context.storage.write(
      key,
      (async function* () {
        yield Buffer.from('upload')
      })(),
    )
    await sql`
      insert into imports (org_id, project_id, id, job_id, source, storage_key, bytes_total, created_at)
      values (${org.orgId}, ${org.projectId}, ${randomUUIDv7()}, ${jobId}, 'auto', ${key}, 6, now())`
    return key
  }

  async function makeManifest() {
    const client = service.client(org.key)
    const components = [{ component_type: 'tool', component_name: randomUUIDv7() }]
    const { body } = await client.post('/manifests', {
      agent_name: 'a',
      components,
      activate: false,
    })
    return body.manifest_id as string
  }

  /** Runs the job and waits for its end. */
  async function run() {
    const id = await context.queue.transaction(sql, (tx: Transaction) =>
      context.queue.enqueue(tx, deleteExpired, {}, { orgId: null }),
    )
    await until(async () => {
      const [job] = await service.boss.findJobs(deleteExpired.name, { id: id as string })
      return job?.state === 'completed'
    })
  }

  const count = async (table: string) => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from ${sql(table)} where org_id = ${org.orgId}`
    return row?.n
  }

  t.test('deletes jobs 30 days after their end, however many, with their attempts', async (t) => {
    await makeJobs(2500, 31)
    await makeJobs(3, 29)
    await run()
    t.equal(await count('jobs'), 3)
    t.equal(await count('job_attempts'), 3)
  })

  t.test(
    'keeps a job that an import shows, without its attempts, and deletes its upload',
    async (t) => {
      const [old] = await makeJobs(1, 31)
      const key = await makeImport(old as string)
      await run()
      const [row] = await sql`select id from jobs where id = ${old as string}`
      t.ok(row)
      const attempts = await sql`select from job_attempts where job_id = ${old as string}`
      t.equal(attempts.length, 0)
      await t.rejects(context.storage.read(key))
      const [left] = await sql`select storage_key from imports where job_id = ${old as string}`
      t.equal(left?.['storage_key'], null)
    },
  )

  t.test('fails what replay batches left open, and keeps the job of a batch', async (t) => {
    const [jobId = ''] = await makeJobs(1, 31)
    const expired = await insertReplayBatch(sql, org, ['a', 'b', 'c', 'd'])
    const [held = '', done = ''] = expired.tasks
    await sql`
      update replay_batches set expires_at = now(), job_id = ${jobId} where id = ${expired.id}`
    await sql`
      update replay_tasks set status = 'leased', lease_token = gen_random_uuid(), leased_until = now()
      where id = ${held}`
    await sql`update replay_tasks set status = 'completed', ended_at = now() where id = ${done}`
    const other = await insertReplayBatch(sql, org, ['a'])
    await run()
    const client = service.client(org.key)
    const { body } = await client.get(`/replay/batches/${expired.id}`)
    t.match(body, { status: 'completed', counts: { completed: 1, failed: 3 } })
    t.match(body.tasks[0], { id: held, status: 'failed', reason: 'expired', ended_at: String })
    t.match((await client.get(`/replay/batches/${other.id}`)).body.counts, {
      pending: 1,
      failed: 0,
    })
    t.equal((await sql`select from jobs where id = ${jobId}`).length, 1)
  })

  t.test('forgets idempotency keys after 24 hours', async (t) => {
    await sql`
      insert into idempotency_keys
        (org_id, api_key_id, key, claim, claimed_until, request_id, created_at)
      select ${org.orgId}, ${org.keyId}, n::text, gen_random_uuid(), now(), gen_random_uuid(),
        now() - n * interval '1 hour'
      from generate_series(1, 30) n`
    await run()
    t.equal(await count('idempotency_keys'), 23)
  })

  t.test('deletes what was found of single traces 90 days ago, and keeps the report', async (t) => {
    for (const days of [91, 89]) {
      const [report, finding] = [randomUUIDv7(), randomUUIDv7()]
      const [before, after] = [await makeManifest(), await makeManifest()]
      await sql`
        insert into compat_reports (org_id, project_id, id, agent_name, old_manifest_id,
          new_manifest_id, job_id, trace_window_days, window_start, window_end, policy_name,
          policy_version, engine_version, created_at)
        values (${org.orgId}, ${org.projectId}, ${report}, 'a', ${before}, ${after},
          ${randomUUIDv7()}, 30, now(), now(), 'default', 1, '1', now() - ${days} * interval '1 day')`
      await sql`
        insert into compat_findings
          (org_id, report_id, id, verdict, needs_review, reasons, repair_rules)
        values (${org.orgId}, ${report}, ${finding}, 'keep', false, '[]', '[]')`
      await sql`
        insert into compat_episodes (org_id, report_id, started_at, trace_id, finding_id)
        select ${org.orgId}, ${report}, now(), n::text, ${finding} from generate_series(1, 1500) n`
    }
    await run()
    t.equal(await count('compat_reports'), 2)
    t.equal(await count('compat_findings'), 1)
    t.equal(await count('compat_episodes'), 1500)
  })

  t.test('deletes deliveries and mails after 90 days, and sessions that are over', async (t) => {
    await sql`
      insert into deliveries (org_id, id, event, body, state, max_attempts, created_at, finished_at)
      select ${org.orgId}, gen_random_uuid(), 'manifest.changed', '', state, 1,
        now() - interval '100 days', ended
      from (values ('delivered', now() - interval '91 days'), ('failed', now() - interval '89 days'),
        ('pending', null)) as d (state, ended)`
    await sql`
      insert into mails (org_id, id, recipient, subject, body, created_at)
      select ${org.orgId}, gen_random_uuid(), 'r', 's', 'b', now() - n * interval '1 day'
      from unnest(array[91, 89]) n`
    await sql`
      insert into sessions (org_id, token_hash, key_id, expires_at)
      select ${org.orgId}, sha256(n::text::bytea), ${org.keyId}, now() + n * interval '1 hour'
      from unnest(array[-1, 1]) n`
    await run()
    t.same(await sql`select state from deliveries where org_id = ${org.orgId} order by state`, [
      { state: 'failed' },
      { state: 'pending' },
    ])
    t.equal(await count('mails'), 1)
    t.equal(await count('sessions'), 1)
  })

  t.test('knows every table that keeps a job from being deleted', async (t) => {
    const rows = await sql<{ name: string }[]>`
      select conrelid::regclass::text as name from pg_constraint
      where confrelid = 'jobs'::regclass and contype = 'f' and confdeltype <> 'c' order by 1`
    t.same(
      rows.map(({ name }) => name),
      ['dataset_versions', 'imports'],
      'sql/jobs/retention.ts names them',
    )
  })
})
