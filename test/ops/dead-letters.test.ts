import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { admitJob } from '../../api/admit-job.ts'
import type { Principal } from '../../api/principal.ts'
import { buildDataset } from '../../jobs/build-dataset.ts'
import { deadLetterName } from '../../jobs/job.ts'
import { listDeadLetters, redriveDeadLetters } from '../../ops/dead-letters.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import { handler } from '../../workers/runtime/handler.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('dead letters', async (t) => {
  const { context, boss, sql, makeOrganization, startWorkers } = await openService(t)
  const org = await makeOrganization()
  const { queue } = context
  const redrive = (dryRun = false, filter: object = {}) =>
    redriveDeadLetters({ boss, sql, queue }, buildDataset.name, { limit: 100, dryRun, ...filter })

  /** A job whose attempts are used up. */
  async function makeDead() {
    const principal = { orgId: org.orgId, keyId: org.keyId, plan: 'pro' } as Principal
    const id = await queue.transaction(sql, (tx: Transaction) =>
      admitJob(
        context,
        tx,
        principal,
        buildDataset,
        { version_id: randomUUIDv7() },
        {
          projectId: org.projectId,
        },
      ),
    )
    const [queued] = await boss.fetch(buildDataset.name, { includeMetadata: true })
    await sql`update pgboss.job set retry_limit = 0 where id = ${queued?.id ?? null}`
    await boss.fail(buildDataset.name, queued?.id ?? '', { message: 'broken' })
    await sql`
      update jobs set state = 'failed', started_at = now(), finished_at = now(),
        error = '{"code": "x", "message": "broken", "retryable": true}' where id = ${id}`
    return id
  }

  t.test('are listed with what they carried and why they died', async (t) => {
    const id = await makeDead()
    const [letter] = await listDeadLetters(sql, buildDataset.name, { limit: 10 })
    t.match(letter, {
      org_id: org.orgId,
      job_id: id,
      payload: { version_id: /-/ },
      error: { message: 'broken' },
    })
    t.ok(letter?.died_at)
    await t.rejects(listDeadLetters(sql, 'no.queue', { limit: 10 }), /There is no queue no.queue/)
  })

  t.test('are counted and left alone by a dry run', async (t) => {
    t.match(await redrive(true), { found: 1, redriven: 0, dry_run: true })
    t.equal((await listDeadLetters(sql, buildDataset.name, { limit: 10 })).length, 1)
  })

  t.test('are chosen by organization, by what they died of and by when', async (t) => {
    const found = async (filter: object) => {
      const counts = await redrive(true, filter)
      return counts.found
    }
    t.equal(await found({ orgId: org.orgId, error: 'BROKE' }), 1)
    t.equal(await found({ orgId: randomUUIDv7() }), 0)
    t.equal(await found({ error: 'whole' }), 0)
    const [letter] = await listDeadLetters(sql, buildDataset.name, { limit: 10 })
    const later = new Date(Number(letter?.died_at) + 1)
    t.equal(await found({ since: letter?.died_at, until: later }), 1)
    t.equal(await found({ since: later }), 0)
    t.equal(await found({ until: letter?.died_at }), 0)
  })

  t.test('go back into their queue together with their job resource', async (t) => {
    const [letter] = await listDeadLetters(sql, buildDataset.name, { limit: 10 })
    t.match(await redrive(), { found: 1, redriven: 1, obsolete: 0 })
    t.match(await findJob(sql, org.orgId, letter?.job_id ?? ''), { state: 'queued', error: null })
    t.match(
      await sql`select action, actor_key_id from audit_events where resource_id = ${letter?.job_id ?? null}`,
      [{ action: 'job.redriven', actor_key_id: null }],
    )
    t.equal((await listDeadLetters(sql, buildDataset.name, { limit: 10 })).length, 0)
    const worker = await startWorkers([handler(buildDataset, async () => ({ built: true }))])
    await until(
      async () => (await findJob(sql, org.orgId, letter?.job_id ?? ''))?.state === 'succeeded',
    )
    await worker.stop()
  })

  t.test('of a job that was retried meanwhile are thrown away', async (t) => {
    const id = await makeDead()
    await sql`update jobs set state = 'queued', finished_at = null where id = ${id}`
    t.match(await redrive(), { found: 1, redriven: 0, obsolete: 1 })
    t.equal((await listDeadLetters(sql, buildDataset.name, { limit: 10 })).length, 0)
  })

  t.test('of a job that was deleted are left and told', async (t) => {
    const id = await makeDead()
    await sql`delete from jobs where id = ${id}`
    t.match(await redrive(true), { found: 1, redriven: 0, gone: 1, dry_run: true })
    t.match(await redrive(), { found: 1, redriven: 0, obsolete: 0, gone: 1 })
    t.match(await listDeadLetters(sql, buildDataset.name, { limit: 10 }), [{ job_id: id }])
    await sql`delete from pgboss.job where name = ${deadLetterName(buildDataset.name)}`
  })

  t.test('of deleted jobs do not count towards the limit, however many they are', async (t) => {
    await sql`delete from jobs where id = ${await makeDead()}`
    // More than a page, of one time.
    await sql`
      insert into pgboss.job_common
      select (jsonb_populate_record(j, jsonb_build_object('id', gen_random_uuid()))).*
      from pgboss.job_common j, generate_series(1, 1000)
      where name = ${deadLetterName(buildDataset.name)}`
    for (let n = 0; n < 2; n++) await makeDead()
    t.match(await redrive(true, { limit: 1 }), { found: 1002, gone: 1001, left: 1 })
    t.match(await redrive(false, { limit: 1 }), { found: 1002, gone: 1001, redriven: 1, left: 1 })
    t.match(await redrive(), { found: 1002, gone: 1001, redriven: 1, left: 0 })
    await sql`delete from pgboss.job where name in (${buildDataset.name}, ${deadLetterName(buildDataset.name)})`
  })

  t.test('beyond the limit are told', async (t) => {
    for (let n = 0; n < 3; n++) await makeDead()
    t.match(await redrive(true, { limit: 2 }), { found: 2, left: 1 })
    t.match(await redrive(false, { limit: 2 }), { found: 2, redriven: 2, left: 1 })
    t.match(await redrive(), { found: 1, redriven: 1, left: 0 })
  })
})
