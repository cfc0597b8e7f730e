import t from 'tap'
import { createHash, randomUUIDv7 } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Transaction } from '../../../sql/core/db.ts'
import { readTrace } from '../../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import { copyTraces, encodeTraces } from '../../../sql/traces/trace-copy.ts'
import { insertTied, tieLate } from '../../../sql/transactions/store-traces.ts'
import { listMetricValues } from '../../../sql/regression/metric-values.ts'
import { countMeasured, listSessions } from '../../../sql/regression/activations.ts'
import {
  countClosedTraces,
  listClosedTraces,
  lockUnrevised,
} from '../../../sql/manifests/closed-traces.ts'
import { linkNamedTraces } from '../../../sql/manifests/manifest-links.ts'
import { findManifest, insertManifest, lockAgent } from '../../../sql/manifests/manifests.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { gate } from '../../support/queues.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

// No worker runs: what holds, holds once the requests are answered.
const service = await openService(t)
const { sql } = service
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('a trace is tied to the manifest of its hash as it is stored', async (t) => {
  const { client, register } = await makeAgent(service)
  const manifest_hash = hashOf('known')
  const { manifest_id } = await register([toolComponent('a')], {
    manifest_hash: manifest_hash.toUpperCase(),
  })
  const named = (hash: string) => ({ agent_name: 'support', manifest_hash: hash })
  const forms = [manifest_hash, `sha256:${manifest_hash}`, `SHA256:${manifest_hash.toUpperCase()}`]
  const one = await client.post('/traces', named(manifest_hash))
  const batch = await client.post('/traces/batch', forms.map(named))
  for (const id of [one.body.id, ...batch.body.trace_ids]) {
    t.match((await client.get(`/traces/${id}`)).body, {
      manifest_id,
      version_label: 'v1',
      manifest_hash,
    })
  }
  const other = await client.post('/traces', { ...named(manifest_hash), agent_name: 'other' })
  t.match((await client.get(`/traces/${other.body.id}`)).body, {
    manifest_id: null,
    version_label: null,
  })
  const listed = (await client.get('/traces')).body.traces as { version_label: string | null }[]
  t.same(
    listed.map(({ version_label }) => version_label),
    [null, 'v1', 'v1', 'v1', 'v1'],
  )
  for (const form of forms) {
    const { body } = await client.get(`/traces?manifest_hash=${form}`)
    t.equal(body.total, 5, form)
  }
})

t.test('an id that is none of the agent’s manifests leaves the hash to decide', async (t) => {
  const { client, register } = await makeAgent(service)
  const { manifest_id, manifest_hash } = await register([toolComponent('a')])
  const id = randomUUIDv7()
  const stored = await client.post('/traces', {
    agent_name: 'support',
    manifest_id: id,
    manifest_hash,
  })
  t.match(stored.body.warnings, [{ code: 'unknown_manifest' }])
  t.match((await client.get(`/traces/${stored.body.id}`)).body, {
    manifest_id,
    metadata: { unknown_manifest_id: id },
  })
})

for (const [way, insert] of [
  ['inserted', insertTied],
  [
    'copied',
    async (tx: Transaction, [row]: ReturnType<typeof rowOf>[]) => {
      if (!row) return
      const rows = encodeTraces(row.org_id, row.project_id, [row])
      await tieLate(tx, await copyTraces(tx, rows, 0, 1))
    },
  ],
] as const) {
  t.test(`a manifest waits for the traces that are being ${way}, and ties them`, async (t) => {
    const agent = await makeAgent(service)
    const manifest_hash = hashOf(way)
    const row = rowOf(agent.org, { trace_id: way, manifest_hash })
    const commit = gate()
    const inserted = gate()
    const storing = sql.begin(async (tx) => {
      await insert(tx, [row])
      inserted.open()
      await commit.opened
    })
    await inserted.opened
    const registering = agent.register([toolComponent('a')], { manifest_hash })
    await until(() => countLockWaits(sql, { type: 'advisory' }))
    commit.open()
    await storing
    const { manifest_id } = await registering
    t.equal((await agent.client.get(`/traces/${way}`)).body.manifest_id, manifest_id)
  })
}

t.test('traces wait for the manifest that is being registered, and are tied to it', async (t) => {
  const { org, client, register } = await makeAgent(service)
  const agent = { orgId: org.orgId, projectId: org.projectId, agentName: 'support' }
  const first = await findManifest(
    sql,
    agent.orgId,
    (await register([toolComponent('a')])).manifest_id,
  )
  if (!first) return t.fail('the manifest is gone')
  const manifest_hash = hashOf('next')
  const next = { ...first, id: randomUUIDv7(), manifest_hash: `sha256:${manifest_hash}` }
  const commit = gate()
  const linked = gate()
  const registering = sql.begin(async (tx) => {
    await lockAgent(tx, agent)
    await insertManifest(tx, agent, {
      ...next,
      status: 'draft',
      components: [],
      created_by: org.keyId,
    })
    await linkNamedTraces(tx, agent, next, 10)
    linked.open()
    await commit.opened
  })
  await linked.opened
  const storing = client.post('/traces', { agent_name: 'support', manifest_hash })
  await until(() => countLockWaits(sql, { type: 'advisory' }))
  commit.open()
  await registering
  const { body } = await storing
  t.equal((await client.get(`/traces/${body.id}`)).body.manifest_id, next.id)
})

t.test('a trace of a known manifest does not wait for the next one', async (t) => {
  const { org, client, register } = await makeAgent(service)
  const { manifest_id, manifest_hash } = await register([toolComponent('a')])
  const agent = { orgId: org.orgId, projectId: org.projectId, agentName: 'support' }
  const stored = await sql.begin(async (tx) => {
    await lockAgent(tx, agent)
    return client.post('/traces', { agent_name: 'support', manifest_hash })
  })
  t.equal((await client.get(`/traces/${stored.body.id}`)).body.manifest_id, manifest_id)
})

t.test('traces of many agents take few locks', async (t) => {
  const { org } = await makeAgent(service)
  const rows = Array.from({ length: 2000 }, (_, i) =>
    rowOf(org, { agent_name: `agent ${i}`, manifest_hash: hashOf('unknown') }),
  )
  await sql.begin(async (tx) => {
    await insertTied(tx, rows)
    const locks = await tx`
      select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`
    t.equal(locks.length, 256)
  })
})

t.test('every reader of a manifest’s traces takes those not tied yet', async (t) => {
  const { org, client, register, store } = await makeAgent(service)
  const { manifest_id, manifest_hash } = await register([toolComponent('a')])
  const other = await register([toolComponent('b')])
  const first = await store([['a', {}]], { manifest_hash, scores: { reward: 1 } })
  const second = await store([['a', {}]], { manifest_hash, scores: { reward: 1 } })
  await store([['a', {}]], { agent_name: 'other', manifest_hash })
  await store([['b', {}]], { manifest_hash: other.manifest_hash })
  await client.post('/traces/batch-decision', { trace_ids: [first, second] })
  // As if it had come before the manifest.
  await sql`update traces set manifest_id = null where org_id = ${org.orgId} and trace_id = ${second}`

  const both = [first, second].sort()
  const ids = (rows: readonly object[]) => rows.map((row) => (row as { trace_id: string }).trace_id)
  const listed = await client.get(`/traces?manifest_id=${manifest_id}`)
  t.same(ids(listed.body.traces).sort(), both)
  t.equal(listed.body.total, 2)

  const { manifests } = (await client.get('/manifests?agent_name=support')).body
  const counts = manifests.map((each: { id: string; traces_count: number }) => [
    each.id,
    each.traces_count,
  ])
  t.same(new Map(counts), new Map([[other.manifest_id, 1], [manifest_id, 2]])) // prettier-ignore

  const agent = { orgId: org.orgId, projectId: org.projectId, agentName: 'support' }
  const window = [new Date(0), new Date(Date.now() + 60_000)] as const
  const closed = { ...agent, manifestId: manifest_id, window }
  t.equal(await countClosedTraces(sql, closed), 2)
  const walked = await listClosedTraces(sql, closed, undefined)
  t.same(ids(walked).sort(), both)
  t.same(
    walked.map((each) => each.manifest_id),
    [manifest_id, manifest_id],
  )
  const values = await listMetricValues(sql, agent, manifest_id, window)
  t.same(ids(values.filter(({ metric }) => metric === 'reward')).sort(), both)
  const sessions = await listSessions(sql, agent, 'reward', { fromOrdinal: 1, since: new Date(0) })
  t.same(ids(sessions).sort(), both)

  const headers = { prefer: 'respond-async' }
  const decided = await client.post('/traces/batch-decision', { manifest_id }, headers)
  t.equal(decided.status, 202)
})

t.test('what was found before a trace was tied is not stored', async (t) => {
  const { org, register, store } = await makeAgent(service)
  const bare = hashOf('late')
  const ids = [await store([], { manifest_hash: bare }), await store([])]
  const { orgId, projectId } = org
  const read = await listClosedTraces(sql, { orgId, projectId, traceIds: ids }, undefined)
  await register([toolComponent('a')], { manifest_hash: bare })
  const again = await listClosedTraces(sql, { orgId, projectId, traceIds: ids }, undefined)
  await sql.begin(async (tx) => {
    t.same(await lockUnrevised(tx, orgId, projectId, read), new Set([ids[1]]))
    t.same(await lockUnrevised(tx, orgId, projectId, again), new Set(ids))
  })
})

t.test('traces that are not tied yet bring a series to its next look', async (t) => {
  const { org, register, store } = await makeAgent(service)
  const { manifest_id, manifest_hash } = await register([toolComponent('a')])
  const agent = { orgId: org.orgId, projectId: org.projectId, agentName: 'support' }
  const newest = { manifestId: manifest_id, begins: new Date(0), limit: 2 }
  for (let n = 1; n <= 3; n++) {
    await store([], { manifest_hash, scores: { reward: 1 } })
    t.equal(await countMeasured(sql, agent, 'reward', newest), Math.min(n, 2))
    await sql`update traces set manifest_id = null where org_id = ${org.orgId}`
  }
})

t.test('traces stored by earlier releases name manifests in the same way', async (t) => {
  const { org, client, register } = await makeAgent(service)
  const { manifest_id, manifest_hash } = await register([toolComponent('a')])
  const bare = manifest_hash.replace('sha256:', '')
  const unknown = randomUUIDv7()
  const stored = {
    prefixed: {},
    capital: {},
    by_id: {},
    lost: { metadata: { a: 1 } },
    both: {},
    free: {},
  }
  const traces = Object.entries(stored).map(([id, more]) => ({
    id,
    agent_name: 'support',
    ...more,
  }))
  await client.post('/traces/batch', traces)
  for (const [id, named] of [
    ['prefixed', { manifest_hash }],
    ['capital', { manifest_hash: bare.toUpperCase() }],
    ['by_id', { manifest_id }],
    ['lost', { manifest_id: unknown }],
    ['both', { manifest_id: unknown, manifest_hash: bare }],
    ['free', { manifest_hash: 'sha256:My hash' }],
  ] as const) {
    await sql`update traces set ${sql(named)} where org_id = ${org.orgId} and trace_id = ${id}`
  }
  const file = new URL('../../../sql/migrations/0010-named-manifests.sql', import.meta.url)
  await sql.unsafe(await readFile(file, 'utf8'))
  const shown = async (id: string) => (await client.get(`/traces/${id}`)).body
  for (const id of ['prefixed', 'capital', 'by_id']) {
    t.match(await shown(id), { manifest_id, manifest_hash: bare }, id)
  }
  t.match(await shown('lost'), {
    manifest_id: null,
    metadata: { a: 1, unknown_manifest_id: unknown },
  })
  t.match(await shown('both'), { manifest_id, metadata: { unknown_manifest_id: unknown } })
  t.match(await shown('free'), { manifest_id: null, manifest_hash: 'My hash' })
})

function rowOf(org: { orgId: string; projectId: string }, more: object) {
  const read = readTrace(
    { agent_name: 'support', ...more },
    { traceId: randomUUIDv7, now: new Date() },
  )
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return { ...toTraceRow(read.trace, 'shared'), org_id: org.orgId, project_id: org.projectId }
}
