import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { deleteExpiredHandler } from '../../../workers/maintenance/delete-expired.ts'
import { runDeleteExpired } from '../../support/delete-expired.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { openService } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'

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

  const run = () => runDeleteExpired(service)

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

  t.test('keeps the job of a repair that did not complete', async (t) => {
    const [incomplete, complete] = (await makeJobs(2, 31)) as [string, string]
    const [before, after] = [await makeManifest(), await makeManifest()]
    for (const job of [incomplete, complete]) {
      await sql`
        insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id,
          new_manifest_id, rules, engine_version, completed_at)
        values (${org.orgId}, ${org.projectId}, ${randomUUIDv7()}, ${job}, ${before}, ${after},
          '[]', '2', ${job === complete ? new Date() : null})`
    }
    await run()
    t.same(await sql`select id from jobs where id in ${sql([incomplete, complete])}`, [
      { id: incomplete },
    ])
    await sql`delete from repair_batches where org_id = ${org.orgId}`
  })

  t.test('deletes what was repaired for a manifest 90 days after it was superseded', async (t) => {
    const client = service.client(org.key)
    const old = await makeManifest()
    const trace = { trace_id: 'repaired', agent_name: 'a', manifest_id: old }
    await client.post('/traces', trace)
    const targets = {
      long: { status: 'superseded', days: [200, 91] },
      lately: { status: 'superseded', days: [89] },
      again: { status: 'superseded', days: [200, 10] },
      active: { status: 'active', days: [200] },
      draft: { status: 'draft', days: [] },
      'asked for late': { status: 'superseded', days: [200], ageDays: 89 },
    }
    const ids = new Map<string, string>()
    for (const [name, { status, days, ...more }] of Object.entries(targets)) {
      const ageDays = 'ageDays' in more ? more.ageDays : 91
      const [target, batch] = [await makeManifest(), randomUUIDv7()]
      ids.set(target, name)
      await sql`
        update manifests set status = 'superseded'
        where org_id = ${org.orgId} and status = 'active' and ${status} = 'active'`
      await sql`update manifests set status = ${status} where id = ${target}`
      await sql`
        insert into manifest_activations (org_id, project_id, agent_name, ordinal, manifest_id,
          previous_manifest_id, kind, activated_at)
        select ${org.orgId}, ${org.projectId}, 'a', row_number() over () + (
            select coalesce(max(ordinal), 0) from manifest_activations where org_id = ${org.orgId}),
          ${old}, ${target}, 'reactivated', now() - days * interval '1 day'
        from unnest(${days}::int[]) as days`
      await sql`
        insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id,
          new_manifest_id, rules, engine_version, created_at)
        values (${org.orgId}, ${org.projectId}, ${batch}, ${randomUUIDv7()}, ${old}, ${target},
          '[]', '2', now() - ${name === 'long' ? 91 : 89} * interval '1 day')`
      await sql`
        insert into repair_failures (org_id, batch_id, trace_id, code)
        select ${org.orgId}, ${batch}, n::text, 'left_unfit' from generate_series(1, 1500) n`
      await sql`
        insert into trace_revisions (org_id, project_id, trace_id, target_manifest_id, batch_id,
          trace_revision, rules, content, content_hash, tools_called, created_at)
        values (${org.orgId}, ${org.projectId}, 'repaired', ${target}, ${batch}, 0, '{}', '', '',
          '{}', now() - ${ageDays} * interval '1 day')`
    }
    await run()
    const left = await sql<{ target_manifest_id: string }[]>`
      select target_manifest_id from trace_revisions where org_id = ${org.orgId}`
    const names = left.map(({ target_manifest_id: id }) => ids.get(id))
    t.same(new Set(names), new Set(['lately', 'again', 'active', 'draft', 'asked for late']))
    t.equal(await count('repair_batches'), 6, 'rows of built versions name them')
    t.equal(await count('repair_failures'), 5 * 1500)
  })

  t.test('deletes the texts that previews of repairs show after a day', async (t) => {
    const [old = '', fresh = ''] = [...(await makeJobs(1, 2)), ...(await makeJobs(1, 0))]
    const result = { rules_hash: 'x', previews: [{ trace_id: 't', before: 'a', after: 'b' }] }
    await sql`
      update jobs set kind = 'repair.preview', result = ${JSON.stringify(result)}::text::jsonb
      where id in ${sql([old, fresh])}`
    await run()
    const rows = await sql<{ id: string; result: object }[]>`
      select id, result from jobs where id in ${sql([old, fresh])}`
    const results = new Map(rows.map((row) => [row.id, row.result]))
    t.same(results.get(old), { ...result, previews: [] })
    t.same(results.get(fresh), result)
  })

  t.test('forgets after 90 days that a dataset became stale', async (t) => {
    const owner = await service.makeOrganization()
    const version = await storeVersion(sql, owner, 1)
    await sql`
      insert into dataset_staleness_events
        (org_id, id, version_id, manifest_id, previous_manifest_id, occurred_at)
      select ${owner.orgId}, gen_random_uuid(), ${version}, gen_random_uuid(), gen_random_uuid(),
        now() - n * interval '1 day'
      from unnest(array[91, 89]) n`
    await run()
    const left = await sql`select from dataset_staleness_events where org_id = ${owner.orgId}`
    t.equal(left.length, 1)
  })

  t.test('deletes the rows of versions that nobody needs', async (t) => {
    const owners = await Promise.all(Array.from({ length: 5 }, () => service.makeOrganization()))
    async function storeRows(n: number, rowCount: number) {
      const owner = owners[n] as (typeof owners)[number]
      const version = await storeVersion(sql, owner, rowCount)
      await sql`
        insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
          score_fingerprint, split, shard, byte_offset, byte_length)
        select ${owner.orgId}, ${version}, n, 't' || n, sha256('x'), 'y', 'train', 0, 0, 1
        from generate_series(0, ${rowCount - 1}) n`
      return { version, client: service.client(owner.key) }
    }
    const deleted = await storeRows(0, 60_000)
    const { version: ready } = await storeRows(1, 3)
    const { version: failed } = await storeRows(2, 3)
    const { version: running } = await storeRows(3, 3)
    const { version: restored } = await storeRows(4, 3)
    await sql`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where id = any(${[failed, running]}::uuid[])`
    await sql`
      update jobs set state = 'failed', started_at = now(), finished_at = now(),
        error = '{"code": "x", "message": "x", "retryable": true}'
      where id in (select job_id from dataset_versions where id = ${failed})`
    await sql`update dataset_versions set restored = true where id = ${restored}`
    const { body } = await deleted.client.get('/datasets')
    const left = async () => {
      const rows = await sql<{ version_id: string; n: number }[]>`
        select version_id, count(*)::int as n from dataset_version_rows group by version_id`
      return new Map(rows.map(({ version_id, n }) => [version_id, n]))
    }
    t.equal((await deleted.client.delete(`/datasets/${body.datasets[0].id}`)).status, 204)
    t.equal((await left()).get(deleted.version), 60_000, 'nobody waits for them')
    await run()
    t.same(
      await left(),
      new Map([
        [ready, 3],
        [running, 3],
      ]),
    )
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
    await sql`
      insert into rate_buckets (org_id, key_id, full_at, last_used_at)
      select org_id, id, now(), now() from sessions where org_id = ${org.orgId}
      union all select ${org.orgId}::uuid, ${org.keyId}::uuid, now(), now()
      on conflict do nothing`
    await run()
    t.same(await sql`select state from deliveries where org_id = ${org.orgId} order by state`, [
      { state: 'failed' },
      { state: 'pending' },
    ])
    t.equal(await count('mails'), 1)
    t.equal(await count('sessions'), 1)
    t.equal(
      await count('rate_buckets'),
      2,
      'the token buckets of the key and of the session that is left',
    )
  })

  t.test('deletes payment events 90 days after they came', async (t) => {
    await sql`
      insert into payment_events (id, type, created, livemode, payload, received_at)
      select 'evt_' || n, 'invoice.paid', 0, false, '{}', now() - n * interval '1 day'
      from generate_series(80, 1200) n`
    await run()
    const left = await sql<{ id: string }[]>`select id from payment_events order by id`
    t.same(
      left.map(({ id }) => id),
      Array.from({ length: 10 }, (_, n) => `evt_${80 + n}`),
    )
  })

  t.test(
    'deletes pushes that ended, 90 days after their request, and then their jobs',
    async (t) => {
      const version = await storeVersion(sql, org, 1)
      const days = [91, 89, 91, 20] as const
      const [old = '', kept = '', open = '', fresh = ''] = await makeJobs(days.length, 31)
      const ids = [old, kept, open, fresh]
      await sql`
      insert into dataset_pushes (org_id, id, dataset_id, version_id, job_id, repo_id, revision,
        private, create_pr, hub_url, created_at)
      select ${org.orgId}, gen_random_uuid(), v.dataset_id, v.id, job, 'a/b', 'main', true, false, 'h',
        now() - days * interval '1 day'
      from dataset_versions v, unnest(${ids}::uuid[], ${[...days]}::int[]) as p (job, days)
      where v.id = ${version}`
      await sql`update jobs set state = 'running', finished_at = null where id = ${open}`
      await run()
      const pushed = await sql<{ job_id: string }[]>`select job_id from dataset_pushes`
      t.same(pushed.map(({ job_id }) => job_id).sort(), [kept, open, fresh].sort())
      await run()
      const left = await sql<{ id: string }[]>`select id from jobs where id in ${sql(ids)}`
      t.same(left.map(({ id }) => id).sort(), [kept, open, fresh].sort(), 'a push keeps its job')
    },
  )

  t.test('deletes more pushes than it takes at once', async (t) => {
    const [job = ''] = await makeJobs(1, 31)
    await sql`
      insert into dataset_pushes (org_id, id, dataset_id, version_id, job_id, repo_id, revision,
        private, create_pr, hub_url, created_at)
      select ${org.orgId}, gen_random_uuid(), dataset_id, id, ${job}, 'a/b', 'main', true, false, 'h',
        now() - interval '91 days' from dataset_versions, generate_series(1, 2500)
      where org_id = ${org.orgId}`
    await run()
    t.equal(await count('dataset_pushes'), 3)
  })

  t.test('forgets what an installation told of its skills 90 days ago', async (t) => {
    await sql`
      insert into client_installs (org_id, install_id, skill_name, reported_at)
      select ${org.orgId}, 'laptop', 'skill-' || n, now() - n * interval '1 day'
      from unnest(array[91, 89]) n`
    await run()
    const left = await sql`select skill_name from client_installs where org_id = ${org.orgId}`
    t.same(left, [{ skill_name: 'skill-89' }])
  })

  t.test('deletes skills with all they have 90 days after their deletion', async (t) => {
    const { orgId, key } = await service.makeOrganization()
    const client = service.client(key)
    for (const name of ['kept', 'recent', 'old', 'older']) {
      await client.post('/skills', { name, description: 'One of four', body_markdown: name })
      await client.post(`/skills/${name}/attachments`, { path: 'notes.txt', content: name })
      await client.post(`/skills/${name}/attachments`, { path: 'same.txt', content: 'same' })
    }
    // More versions than one transaction deletes.
    for (let n = 1; n < 105; n++) await client.put('/skills/older', { body_markdown: `body ${n}` })
    for (const [name, days] of [
      ['recent', 89] as const,
      ['old', 91] as const,
      ['older', 99] as const,
    ]) {
      await client.delete(`/skills/${name}`)
      await sql`
        update skills set deleted_at = deleted_at - ${days} * interval '1 day'
        where org_id = ${orgId} and name = ${name}`
    }
    await run()
    const skills = await sql<{ name: string; versions: number }[]>`
      select k.name, count(*)::int as versions
      from skills k left join skill_versions v on v.org_id = k.org_id and v.skill_id = k.id
      where k.org_id = ${orgId} group by k.name order by k.name`
    t.same(
      [...skills],
      [
        { name: 'kept', versions: 1 },
        { name: 'recent', versions: 1 },
      ],
    )
    await sql`update skill_blobs set released_at = released_at - interval '25 hours'`
    await run()
    const blobs = await sql<{ content: Buffer }[]>`
      select content from skill_blobs where org_id = ${orgId} order by content`
    t.same(
      blobs.map(({ content }) => content.toString()),
      ['kept', 'recent', 'same'],
      'the contents of which a version is left',
    )
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
