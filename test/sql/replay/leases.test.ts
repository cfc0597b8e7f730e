import { randomUUID } from 'node:crypto'
import t from 'tap'
import { claimTasks, extendLease, giveBack, skipTask } from '../../../sql/replay/leases.ts'
import type { ClaimRequest } from '../../../sql/replay/leases.ts'
import { openDatabase } from '../../../sql/core/db.ts'
import { createDatabase } from '../../support/database.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { makeOrganization } from '../../support/service.ts'

t.test('leases of replay tasks', async (t) => {
  const sql = openDatabase(await createDatabase(t), { max: 20 })
  t.teardown(() => sql.end({ timeout: 1 }))

  const claim = (orgId: string, more: Partial<ClaimRequest> = {}) =>
    claimTasks(sql, orgId, {
      projectIds: null,
      max: 50,
      leaseSeconds: 60,
      leasedBy: 'worker',
      ...more,
    })
  const ids = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id)
  const traces = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`)
  const show = async (orgId: string) =>
    sql<{ id: string; status: string; attempt: number; reason: string | null; held: boolean }[]>`
      select id, status, attempt, reason, lease_token is not null as held
      from replay_tasks where org_id = ${orgId} order by created_at, ordinal`
  const runOut = (orgId: string) =>
    sql`update replay_tasks set leased_until = now() - interval '1 s'
      where org_id = ${orgId} and status = 'leased'`

  t.test('20 claimers at once get each task once, and all of them', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const { tasks } = await insertReplayBatch(sql, org, traces(500))
    const claimer = async () => {
      const mine = []
      for (;;) {
        const got = await claim(org.orgId, { max: 7 })
        if (got.length === 0) return mine
        mine.push(...got)
      }
    }
    const all = (await Promise.all(Array.from({ length: 20 }, claimer))).flat()
    t.equal(all.length, 500)
    t.same(new Set(ids(all)), new Set(tasks))
    t.equal(new Set(all.map(({ lease_token }) => lease_token)).size, 500)
    t.ok(all.every(({ attempt }) => attempt === 1))
  })

  t.test('the oldest batch goes first, each in its order, and no further than asked', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const young = await insertReplayBatch(sql, org, traces(3))
    const old = await insertReplayBatch(sql, org, traces(3), { createdAt: new Date('2026-01-01') })
    const first = await claim(org.orgId, { max: 4 })
    t.same(ids(first), [...old.tasks, young.tasks[0]])
    t.equal((await show(org.orgId)).filter(({ held }) => held).length, 4)
    t.same(ids(await claim(org.orgId)), young.tasks.slice(1))
  })

  t.test('a claim passes over the tasks that another one is about to take', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const { tasks } = await insertReplayBatch(sql, org, traces(5))
    await sql.begin(async (tx) => {
      t.same(ids(await claimTasks(tx, org.orgId, { ...REQUEST, max: 2 })), tasks.slice(0, 2))
      t.same(ids(await claim(org.orgId, { max: 2 })), tasks.slice(2, 4))
    })
    t.same(ids(await claim(org.orgId)), tasks.slice(4))
  })

  t.test('a claim is for the projects, the agent and the batch it names', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const mine = await insertReplayBatch(sql, org, ['a'], { agent: 'mine' })
    const other = await insertReplayBatch(sql, org, ['b'], { agent: 'other' })
    t.same(await claim(org.orgId, { projectIds: [] }), [])
    t.same(await claim(org.orgId, { projectIds: [randomUUID()] }), [])
    t.same(await claim(org.orgId, { batchId: randomUUID() }), [])
    t.same(await claim(org.orgId, { batchId: mine.id, agentName: 'other' }), [])
    const stranger = await makeOrganization(sql, 'enterprise')
    t.same(await claim(stranger.orgId, { batchId: mine.id }), [])
    t.same(ids(await claim(org.orgId, { agentName: 'other' })), other.tasks)
    t.same(ids(await claim(org.orgId, { projectIds: [org.projectId] })), mine.tasks)
  })

  t.test('a push batch is claimed from only by name', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const push = await insertReplayBatch(sql, org, ['a'], { mode: 'push' })
    t.same(await claim(org.orgId), [])
    t.same(ids(await claim(org.orgId, { batchId: push.id })), push.tasks)
  })

  t.test('a batch gives out nothing before it is prepared or after its end', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const { id } = await insertReplayBatch(sql, org, ['a'])
    for (const state of [
      'prepared_at = null',
      'canceled_at = now()',
      "expires_at = now() - interval '1 s'",
    ]) {
      await sql.begin(async (tx) => {
        await tx.unsafe(`update replay_batches set ${state} where id = '${id}'`)
        t.same(await claimTasks(tx, org.orgId, REQUEST), [], state)
        t.same(await claimTasks(tx, org.orgId, { ...REQUEST, batchId: id }), [], state)
        await tx`update replay_batches set prepared_at = now(), canceled_at = null,
          expires_at = now() + interval '1 day' where id = ${id}`
      })
    }
    t.equal((await claim(org.orgId)).length, 1)
  })

  t.test('a lease that ran out is given to the next, with another token', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    await insertReplayBatch(sql, org, ['a'])
    const [first] = await claim(org.orgId)
    t.same(await claim(org.orgId), [])
    await runOut(org.orgId)
    const [second] = await claim(org.orgId)
    t.match(second, { id: first?.id, attempt: 2 })
    t.not(second?.lease_token, first?.lease_token)
  })

  t.test('a task whose third lease ran out has failed and takes nobody’s place', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    const { tasks } = await insertReplayBatch(sql, org, traces(3))
    for (const attempt of [1, 2, 3]) {
      t.same(
        (await claim(org.orgId, { max: 2 })).map((each) => each.attempt),
        [attempt, attempt],
      )
      await runOut(org.orgId)
    }
    t.same(ids(await claim(org.orgId, { max: 1 })), tasks.slice(2))
    const lost = { status: 'failed', attempt: 3, reason: 'lease_lost', held: false }
    t.match(await show(org.orgId), [lost, lost, { status: 'leased', attempt: 1 }])
  })

  t.test('only the present lease is prolonged, also after its end', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    await insertReplayBatch(sql, org, ['a'])
    const lease = await only(claim(org.orgId))
    await runOut(org.orgId)
    const until = await extendLease(sql, lease, 600)
    t.ok(until && until.getTime() > Date.now() + 500_000)
    t.same(await claim(org.orgId), [])
    t.equal(await extendLease(sql, { ...lease, lease_token: randomUUID() }, 600), undefined)
    const stranger = await makeOrganization(sql, 'enterprise')
    t.equal(await extendLease(sql, { ...lease, org_id: stranger.orgId }, 600), undefined)
    await runOut(org.orgId)
    await claim(org.orgId)
    t.equal(await extendLease(sql, lease, 600), undefined)
  })

  t.test('a lease given back counts as an attempt only when it is to', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    await insertReplayBatch(sql, org, ['a'])
    const free = await only(claim(org.orgId))
    t.equal(await giveBack(sql, free, { counted: false, reason: 'busy' }), 'pending')
    t.equal(await giveBack(sql, free, { counted: false, reason: 'busy' }), undefined)
    t.match(await show(org.orgId), [{ attempt: 0, reason: null, held: false }])
    for (const became of ['pending', 'pending', 'failed'] as const) {
      const lease = await only(claim(org.orgId))
      t.equal(await giveBack(sql, lease, { counted: true, reason: 'a\0b' }), became)
      t.match(await show(org.orgId), [{ reason: 'a\ufffdb' }])
    }
    t.match(await show(org.orgId), [{ status: 'failed', attempt: 3 }])
  })

  t.test('a skipped task is given out no more', async (t) => {
    const org = await makeOrganization(sql, 'enterprise')
    await insertReplayBatch(sql, org, ['a'])
    const lease = await only(claim(org.orgId))
    t.equal(await skipTask(sql, lease, 'trace_gone'), true)
    t.equal(await skipTask(sql, lease, 'trace_gone'), false)
    t.match(await show(org.orgId), [{ status: 'skipped', reason: 'trace_gone', held: false }])
    t.same(await claim(org.orgId), [])
  })
})

async function only<T>(list: Promise<readonly T[]>): Promise<T> {
  const [item, ...others] = await list
  if (item === undefined || others.length > 0) throw new Error('not exactly one')
  return item
}

const REQUEST: ClaimRequest = { projectIds: null, max: 50, leaseSeconds: 60, leasedBy: 'worker' }
