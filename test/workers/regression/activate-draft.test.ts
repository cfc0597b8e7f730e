import t from 'tap'
import { createHash } from 'node:crypto'
import { activateDraft } from '../../../jobs/activate-draft.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'

const service = await openAgentService(t)
await service.startWorkers([checkRegressionHandler, importTracesHandler])
const { sql } = service

const LINES = { 'content-type': 'application/x-ndjson' }
const SEARCH = toolComponent('search', { q: { type: 'string' } }, ['q'])
const REFUND = toolComponent('refund', { id: { type: 'string' } }, ['id'])

/** An agent with production traffic on its active version, all of it judged. */
async function inProduction() {
  const agent = await makeAgent(service)
  const { client, org, propose, store, settled } = agent
  const { manifest_id: active } = await propose([SEARCH, REFUND])
  for (const q of ['a', 'b', 'c']) await store([['search', { q }]], { manifest_id: active })
  await settled()
  return {
    ...agent,
    active: active as string,
    /** Statuses by version, the oldest first. */
    async statuses() {
      const { body } = await client.get('/manifests?agent_name=support')
      return body.manifests.map(({ status }: { status: string }) => status).reverse()
    },
    verdicts: () => sql`select * from verdicts where org_id = ${org.orgId} order by trace_id`,
    check: async (candidate: string, query = '') =>
      (
        await client.post(`/regression-check${query}`, {
          agent_name: 'support',
          candidate_manifest_id: candidate,
        })
      ).body,
    decide: (checkId: string, human_decision: 'accepted' | 'rejected') =>
      client.post(`/regression-check/${checkId}/decision`, { human_decision }),
  }
}

t.test('candidates are compared with what runs, and change nothing of it', async (t) => {
  const agent = await inProduction()
  const { active, propose, check, decide, verdicts, statuses, settled } = agent
  const before = await verdicts()
  t.equal(before.length, 3)
  const isHighRisk = (report: object) => {
    t.match(report, {
      verdict: 'high_risk',
      baseline_manifest_id: active,
      total_traces_analyzed: 3,
      affected_trace_count: 3,
    })
  }
  const first = await propose([REFUND])
  const rejected = await check(first.manifest_id)
  isHighRisk(rejected)
  const second = await propose([REFUND, toolComponent('more')])
  isHighRisk(await check(second.manifest_id))
  await decide(rejected.id, 'rejected')
  isHighRisk(await check(second.manifest_id))
  isHighRisk(await check(first.manifest_id))
  await settled()
  t.same(await statuses(), ['active', 'draft', 'draft'])
  t.same(await verdicts(), before)
})

t.test('a draft is activated by its first production trace, and by no other', async (t) => {
  const { active, client, org, propose, store, settled, statuses, verdicts } = await inProduction()
  const { manifest_id } = await propose([REFUND])
  const under = { manifest_id }
  for (const source_type of ['replayed', 'synthetic', 'imported', 'manual', 'distillation']) {
    await store([['refund', { id: '1' }]], { ...under, source_type })
  }
  await store([['refund', { id: '1' }]], { ...under, metadata: { fixture: true } })
  const line = { agent_name: 'support', source_type: 'production', ...under }
  await client.call('POST', '/import/jsonl', JSON.stringify(line), LINES)
  await settled()
  t.same(await statuses(), ['active', 'draft'])
  t.same(await compatReports(org.orgId), [])
  const targets = async () => [
    ...new Set((await verdicts()).map((row) => row['target_manifest_id'])),
  ]
  t.same(await targets(), [active])
  await store([['refund', { id: '1' }]], under)
  await settled()
  t.same(await statuses(), ['superseded', 'active'])
  t.same(await compatReports(org.orgId), [
    { old_manifest_id: active, new_manifest_id: manifest_id },
  ])
  t.same(await targets(), [manifest_id], 'verdicts follow the activation')
})

t.test('traffic that names a draft by its hash activates it', async (t) => {
  const { propose, store, settled, statuses } = await inProduction()
  const manifest_hash = hashOf('draft')
  await propose([REFUND], { manifest_hash })
  await store([['refund', { id: '1' }]], { manifest_hash: `sha256:${manifest_hash}` })
  await settled()
  t.same(await statuses(), ['superseded', 'active'])
})

t.test('traffic that came before its manifest activates it', async (t) => {
  const { propose, store, settled, statuses } = await inProduction()
  const manifest_hash = hashOf('late')
  await store([['refund', { id: '1' }]], { manifest_hash })
  await settled()
  await propose([REFUND], { manifest_hash })
  await settled()
  t.same(await statuses(), ['superseded', 'active'])
})

t.test('a file of production traces activates nothing, before its manifest or after', async (t) => {
  const { client, propose, settled, statuses } = await inProduction()
  const hashes = [hashOf('file first'), hashOf('manifest first')] as const
  const [before, after] = hashes.map((manifest_hash) => {
    const line = { agent_name: 'support', source_type: 'production', manifest_hash }
    return () => client.call('POST', '/import/jsonl', JSON.stringify(line), LINES)
  }) as [() => Promise<unknown>, () => Promise<unknown>]
  await before()
  await settled()
  for (const manifest_hash of hashes) await propose([REFUND], { manifest_hash })
  await after()
  await settled()
  t.same(await statuses(), ['active', 'draft', 'draft'])
  const { body } = await client.get('/manifests?agent_name=support')
  const counts = body.manifests.map(({ traces_count }: { traces_count: number }) => traces_count)
  t.same(counts, [1, 1, 3], 'both are tied')
})

t.test('a draft that is held stays one whatever runs, until it is activated', async (t) => {
  const { client, propose, store, settled, statuses } = await inProduction()
  const held = await propose([REFUND], { activate: false })
  const heldLater = await propose([SEARCH])
  t.match(await propose([SEARCH], { activate: false }), { action: 'deduped' })
  await propose([toolComponent('waits for traffic')])
  for (const { manifest_id } of [held, heldLater]) {
    await store([['refund', { id: '1' }]], { manifest_id })
  }
  await settled()
  t.same(await statuses(), ['active', 'draft', 'draft', 'draft'])
  await client.post(`/manifests/${held.manifest_id}/activate`)
  t.same(await statuses(), ['superseded', 'active', 'draft', 'draft'])
})

t.test('a draft that is held while its activation waits stays one', async (t) => {
  const { org, propose, settled, statuses } = await inProduction()
  const { manifest_id } = await propose([REFUND])
  await propose([REFUND], { activate: false })
  const { queue } = service.context
  await queue.transaction(sql, (tx: Transaction) =>
    queue.enqueue(tx, activateDraft, { manifest_id }, { orgId: org.orgId, key: manifest_id }),
  )
  await settled()
  t.same(await statuses(), ['active', 'draft'])
})

t.test('an accepted check activates its draft, once', async (t) => {
  const { propose, check, decide, statuses } = await inProduction()
  const candidate = await propose([REFUND], { activate: false })
  const { id } = await check(candidate.manifest_id)
  await decide(id, 'rejected')
  t.same(await statuses(), ['active', 'draft'])
  t.match(await decide(id, 'accepted'), { status: 200, body: { human_decision: 'accepted' } })
  t.same(await statuses(), ['superseded', 'active'])
  const next = await propose([SEARCH], { activate: true })
  await decide(id, 'accepted')
  t.same(await statuses(), ['superseded', 'superseded', 'active'])
  t.equal((await check(next.manifest_id)).baseline_manifest_id, candidate.manifest_id)
})

t.test('the active version is compared with the one active before it', async (t) => {
  const { active, propose, check } = await inProduction()
  const next = await propose([REFUND], { activate: true })
  await propose([SEARCH])
  t.equal((await check(next.manifest_id)).baseline_manifest_id, active)
  t.equal((await check(active)).baseline_manifest_id, next.manifest_id)
})

t.test('traces of an ancestor that are not tied to it yet count as its own', async (t) => {
  const { client, org, propose, store } = await makeAgent(service)
  const held = { activate: false }
  const { manifest_id: first } = await propose([SEARCH, REFUND], held)
  await propose([SEARCH], held)
  const { manifest_id: candidate_manifest_id } = await propose([REFUND], held)
  await store([['search', { q: 'a' }]], { manifest_id: first })
  await sql`update traces set manifest_id = null where org_id = ${org.orgId}`
  const { body } = await client.post('/regression-check', {
    agent_name: 'support',
    candidate_manifest_id,
  })
  t.equal(body.baseline_manifest_id, first)
})

t.test('where nothing was ever active, the nearest ancestor with traces is compared', async (t) => {
  const { client, propose, store, settled } = await makeAgent(service)
  const check = async (candidate_manifest_id: string) =>
    (await client.post('/regression-check', { agent_name: 'support', candidate_manifest_id })).body
  const held = { activate: false }
  const [first, second, third] = [
    await propose([SEARCH, REFUND], held),
    await propose([SEARCH], held),
    await propose([REFUND], held),
  ].map(({ manifest_id }) => manifest_id as string) as [string, string, string]
  const start = await check(first)
  t.match(start, { verdict: 'first_run', baseline_manifest_id: null })
  t.equal((await check(first)).baseline_manifest_id, first, 'its first check made it the baseline')
  t.equal((await check(third)).baseline_manifest_id, second)
  await store([['search', { q: 'a' }]], { manifest_id: first })
  await settled()
  t.equal((await check(third)).baseline_manifest_id, first)
  await client.post(`/regression-check/${start.id}/decision`, { human_decision: 'rejected' })
  t.equal((await check(third)).baseline_manifest_id, second)
})

function compatReports(orgId: string) {
  return sql`select old_manifest_id, new_manifest_id from compat_reports where org_id = ${orgId}`
}

function hashOf(text: string) {
  return createHash('sha256').update(text).digest('hex')
}
