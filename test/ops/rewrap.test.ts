import t from 'tap'
import { openSecret, sealSecret } from '../../jobs/rules/core/secret-box.ts'
import { openOutbound } from '../../ops/outbound.ts'
import { rewrapSecrets } from '../../ops/rewrap.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findSecret, putSecret } from '../../sql/jobs/job-secrets.ts'
import { findNotificationSettings, setWebhookSecret } from '../../sql/webhooks/notifications.ts'
import { openService } from '../support/service.ts'

const OLD = Buffer.alloc(32, 1)
const NEW = Buffer.alloc(32, 2)
const OTHER = Buffer.alloc(32, 3)

t.test('rewrapping the stored secrets', async (t) => {
  const { sql, makeOrganization, config } = await openService(t)
  const keys = { from: OLD, to: NEW }
  async function makeSecret(key: Uint8Array, secret: string) {
    const { orgId } = await makeOrganization()
    await setWebhookSecret(sql, orgId, sealSecret(key, Buffer.alloc(12, 1), secret))
    return orgId
  }
  const stored = async (orgId: string) =>
    (await findNotificationSettings(sql, orgId)).secret ?? Buffer.alloc(0)

  const [first, second] = [await makeSecret(OLD, 'whsec_a'), await makeSecret(NEW, 'whsec_b')]
  const lost = await makeSecret(OTHER, 'whsec_c')
  const { masterKeys } = await openOutbound({
    ...config,
    MASTER_KEY: NEW.toString('hex'),
    MASTER_KEY_PREVIOUS: OLD.toString('hex'),
  })

  t.test('workers with both keys open what either has sealed', async (t) => {
    t.equal(openSecret(masterKeys, await stored(first)), 'whsec_a')
    t.equal(openSecret(masterKeys, await stored(second)), 'whsec_b')
    t.throws(() => openSecret([NEW, OLD], Buffer.alloc(40)))
  })

  t.test('seals anew what the old key opens, and tells what neither does', async (t) => {
    const counts = { rewrapped: 1, current: 1, unreadable: 1, unreadable_orgs: [lost] }
    t.same(await rewrapSecrets(sql, keys), counts)
    t.equal(openSecret([NEW], await stored(first)), 'whsec_a')
    t.equal(openSecret([OTHER], await stored(lost)), 'whsec_c', 'nothing is thrown away')
  })

  t.test('covers the secrets of jobs that have not ended', async (t) => {
    const { orgId, projectId } = await makeOrganization()
    const sealed = { old: OLD, current: NEW, lost: OTHER, ended: OLD }
    const ids = await Promise.all(
      Object.entries(sealed).map(async ([word, key], i) => {
        const [job] = await sql<{ id: string }[]>`
          insert into jobs (org_id, id, project_id, kind, queue_job_id, state)
          values (${orgId}, gen_random_uuid(), ${projectId}, 'dataset.push', gen_random_uuid(),
            'queued')
          returning id`
        const id = job?.id ?? ''
        const secret = sealSecret(key, Buffer.alloc(12, 10 + i), word)
        await sql.begin(async (tx: Transaction) => putSecret(tx, orgId, id, secret))
        return id
      }),
    )
    const [old = '', , lostJob = '', ended = ''] = ids
    await sql`update jobs set state = 'canceled', cancel_requested_at = now(), finished_at = now()
      where id = ${ended}`
    const before = await rewrapSecrets(sql, keys)
    t.match(before, { rewrapped: 1, current: 3, unreadable: 2 })
    t.same(before.unreadable_orgs.toSorted(), [lost, orgId].toSorted())
    const secretOf = async (id: string) => findSecret(sql, orgId, id)
    t.equal(openSecret([NEW], (await secretOf(old)) ?? Buffer.alloc(0)), 'old')
    t.equal(openSecret([OTHER], (await secretOf(lostJob)) ?? Buffer.alloc(0)), 'lost')
    t.equal(await secretOf(ended), null)
    t.match(await rewrapSecrets(sql, keys), { rewrapped: 0, current: 4, unreadable: 2 })
    await sql`delete from jobs where org_id = ${orgId}`
  })

  t.test('covers more secrets than it reads at once', async (t) => {
    const { orgId, projectId } = await makeOrganization()
    await sql`
      with made as (
        insert into jobs (org_id, id, project_id, kind, queue_job_id, state)
        select ${orgId}, gen_random_uuid(), ${projectId}, 'dataset.push', gen_random_uuid(), 'queued'
        from generate_series(1, 1100) returning id
      )
      insert into job_secrets (org_id, job_id, sealed)
      select ${orgId}, id, ${sealSecret(OLD, Buffer.alloc(12, 3), 'many')} from made`
    t.match(await rewrapSecrets(sql, keys), { rewrapped: 1100 })
    t.match(await rewrapSecrets(sql, keys), { rewrapped: 0 })
    await sql`delete from jobs where org_id = ${orgId}`
  })

  t.test('goes on where it was cut short and leaves alone what is done', async (t) => {
    await setWebhookSecret(sql, second, sealSecret(OLD, Buffer.alloc(12, 2), 'whsec_d'))
    t.match(await rewrapSecrets(sql, keys), { rewrapped: 1, current: 1, unreadable: 1 })
    t.match(await rewrapSecrets(sql, keys), { rewrapped: 0, current: 2, unreadable: 1 })
    t.equal(openSecret([NEW], await stored(second)), 'whsec_d')
  })
})
