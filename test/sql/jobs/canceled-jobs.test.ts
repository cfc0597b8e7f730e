import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openTestDatabase } from '../../support/database.ts'
import { makeOrganization } from '../../support/service.ts'

t.test('jobs that were cancelled before the spelling was one are canceled', async (t) => {
  const { sql } = await openTestDatabase(t)
  const { orgId } = await makeOrganization(sql, 'free')
  await sql.unsafe(`
    alter table jobs drop constraint jobs_state_check, drop constraint jobs_check,
      add constraint jobs_state_check check (state = 'cancelled'),
      add constraint jobs_check check (finished_at is not null);
    alter table job_attempts drop constraint job_attempts_outcome_check,
      add constraint job_attempts_outcome_check check (outcome = 'cancelled')`)
  await sql`
    with made as (
      insert into jobs (org_id, id, kind, queue_job_id, state, finished_at, cancel_requested_at)
      values (${orgId}, gen_random_uuid(), 'import.run', gen_random_uuid(), 'cancelled', now(), now())
      returning org_id, id
    )
    insert into job_attempts (org_id, job_id, attempt, worker, ended_at, outcome)
    select org_id, id, 1, 'w', now(), 'cancelled' from made`
  const [migration = ''] = globSync('sql/migrations/*-canceled.sql')
  await sql.begin((tx) => tx.unsafe(readFileSync(migration, 'utf8')))
  const [found] = await sql`select state, outcome from jobs join job_attempts on job_id = id`
  t.same(found, { state: 'canceled', outcome: 'canceled' })
})
