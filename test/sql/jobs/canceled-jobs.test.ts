import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openTestDatabase } from '../../support/database.ts'
import { makeOrganization } from '../../support/service.ts'

t.test('jobs spelled cancelled', async (t) => {
  const { sql } = await openTestDatabase(t)
  const { orgId } = await makeOrganization(sql, 'free')

  /** As a process older than the spelling ends a job that runs. */
  async function cancelOne() {
    const [{ id } = { id: '' }] = await sql<{ id: string }[]>`
      insert into jobs (org_id, id, kind, queue_job_id, state, attempt, started_at,
        cancel_requested_at)
      values (${orgId}, gen_random_uuid(), 'import.run', gen_random_uuid(), 'cancelling', 1, now(),
        now())
      returning id`
    await sql`
      insert into job_attempts (org_id, job_id, attempt, worker) values (${orgId}, ${id}, 1, 'w')`
    await sql`update jobs set state = 'cancelled', finished_at = now() where id = ${id}`
    await sql`
      update job_attempts set outcome = 'cancelled', ended_at = now() where job_id = ${id}`
    return id
  }
  const find = (id: string) => sql`
    select state, outcome from jobs join job_attempts on job_id = id where id = ${id}`
  const CANCELED = [{ state: 'canceled', outcome: 'canceled' }]

  t.test('are canceled where a process of the release before ends them', async (t) => {
    t.same(await find(await cancelOne()), CANCELED)
  })

  t.test('are canceled by the migration', async (t) => {
    await sql.unsafe(`
      drop trigger jobs_spelling on jobs;
      drop trigger job_attempts_spelling on job_attempts;
      drop function spell_state, spell_outcome;
      alter table jobs drop constraint jobs_state_check, drop constraint jobs_check,
        add constraint jobs_state_check check (state in ('cancelling', 'canceled', 'cancelled')),
        add constraint jobs_check check (state = 'cancelling' or finished_at is not null);
      alter table job_attempts drop constraint job_attempts_outcome_check,
        add constraint job_attempts_outcome_check check (outcome in ('canceled', 'cancelled'))`)
    const id = await cancelOne()
    t.same(await find(id), [{ state: 'cancelled', outcome: 'cancelled' }])
    const [migration = ''] = globSync('sql/migrations/*-canceled.sql')
    await sql.begin((tx) => tx.unsafe(readFileSync(migration, 'utf8')))
    t.same(await find(id), CANCELED)
  })
})
