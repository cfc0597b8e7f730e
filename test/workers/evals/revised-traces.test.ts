import t from 'tap'
import { detectViolations } from '../../../jobs/detect-violations.ts'
import { retargetVerdicts } from '../../../jobs/retarget-verdicts.ts'
import { enqueueTraces } from '../../../jobs/trace-batches.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { lockAgent } from '../../../sql/manifests/manifests.ts'
import { judgeTraces } from '../../../sql/transactions/judge-traces.ts'
import { reviseTrace } from '../../../sql/transactions/revise-trace.ts'
import { submitJob } from '../../../sql/transactions/submit-job.ts'
import { detectViolationsHandler } from '../../../workers/evals/detect-violations.ts'
import { retargetVerdictsHandler } from '../../../workers/regression/retarget-verdicts.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { gate } from '../../support/queues.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

// Nobody judges: what a revision asks for stays in the queue.
const service = await openService(t)
const { sql, context } = service
const { queue } = context
await service.startWorkers([detectViolationsHandler, retargetVerdictsHandler])

for (const [name, enqueue] of [
  [
    detectViolations.name,
    (tx: Transaction, { orgId, projectId }: Owner) =>
      enqueueTraces(queue, tx, detectViolations, orgId, projectId, ['revised', 'kept']),
  ],
  [
    retargetVerdicts.name,
    (tx: Transaction, { orgId, projectId, manifestId }: Owner) => {
      const payload = { project_id: projectId, agent_name: 'support', manifest_id: manifestId }
      return submitJob(tx, queue, retargetVerdicts, payload, { orgId, projectId, createdBy: null })
    },
  ],
] as const) {
  t.test(`${name} stores nothing of a trace that was revised since it was opened`, async (t) => {
    const { org, register, store } = await makeAgent(service)
    const { manifest_id } = await register([toolComponent('look', {}, ['q'])])
    for (const trace_id of ['revised', 'kept']) {
      await store([['look', {}]], { trace_id, manifest_id })
    }
    const next = await register([toolComponent('look', {}, ['q', 'limit'])])
    const owner = { ...org, manifestId: next.manifest_id as string }
    await until(async () => (await listOpen(org.orgId)).length === 0)
    await sql`delete from trace_examinations where org_id = ${org.orgId}`

    const [held, release] = [gate(), gate()]
    const holding = sql.begin(async (tx) => {
      await lockAgent(tx, { ...org, agentName: 'support' })
      held.open()
      await release.opened
    })
    await held.opened
    await queue.transaction(sql, async (tx: Transaction) => void (await enqueue(tx, owner)))
    await until(() => countLockWaits(sql, { type: 'advisory' }))
    const key = { org_id: org.orgId, project_id: org.projectId, trace_id: 'revised' }
    const change = queue.transaction(sql, (tx: Transaction) =>
      reviseTrace(tx, queue, key, (stored) => ({ ...stored, tags: ['revised'] })),
    )
    t.match(await change, key)
    release.open()
    await holding
    await until(async () => (await listOpen(org.orgId)).length === 0)
    const examined = await sql<{ trace_id: string }[]>`
      select trace_id from trace_examinations where org_id = ${org.orgId}`
    t.same(
      examined.map(({ trace_id }) => trace_id),
      ['kept'],
    )
  })
}

t.test(
  'the edge to a child trace names the agent that the parent is given meanwhile',
  async (t) => {
    const { org, client } = await makeAgent(service)
    const { orgId, projectId } = org
    await client.post('/traces', { trace_id: 'parent', agent_name: 'before' })
    await client.post('/traces', { trace_id: 'child', agent_name: 'c', parent_trace_id: 'parent' })
    const [renamed, commit] = [gate(), gate()]
    const renaming = queue.transaction(sql, async (tx: Transaction) => {
      const key = { org_id: orgId, project_id: projectId, trace_id: 'parent' }
      await reviseTrace(tx, queue, key, (stored) => ({ ...stored, agent_name: 'after' }))
      renamed.open()
      await commit.opened
    })
    await renamed.opened
    await queue.transaction(sql, (tx: Transaction) =>
      enqueueTraces(queue, tx, detectViolations, orgId, projectId, ['child']),
    )
    const isIdle = async () => (await listOpen(orgId)).length === 0
    await until(async () => (await countLockWaits(sql)) > 0 || isIdle())
    commit.open()
    await renaming
    await until(isIdle)
    const edges = await sql`select parent, child from agent_edges where org_id = ${orgId}`
    t.same(edges, [{ parent: 'after', child: 'c' }])
  },
)

t.test('a trace that runs is not revised while its words are indexed', async (t) => {
  const { org, client } = await makeAgent(service)
  const trace = { trace_id: 't', user_input_preview: 'umbrella' }
  await client.post('/traces', { ...trace, status: 'running' })
  const [indexed, commit] = [gate(), gate()]
  const indexing = queue.transaction(sql, async (tx: Transaction) => {
    await judgeTraces(tx, queue, org.orgId, org.projectId, ['t'])
    indexed.open()
    await commit.opened
  })
  await indexed.opened
  const finishing = client.post('/traces', { ...trace, user_input_preview: 'parasol' })
  await until(() => countLockWaits(sql, { type: 'transactionid' }))
  commit.open()
  await indexing
  t.match(await finishing, { body: { updated: true } })
  await sql.begin((tx) => judgeTraces(tx, queue, org.orgId, org.projectId, ['t']))
  t.equal((await client.get('/traces?q=parasol')).body.total, 1)
  t.equal((await client.get('/traces?q=umbrella')).body.total, 0)
})

t.test('of a trace that is not there nothing is revised', async (t) => {
  const { org } = await makeAgent(service)
  const key = { org_id: org.orgId, project_id: org.projectId, trace_id: 'gone' }
  const revised = await queue.transaction(sql, (tx: Transaction) =>
    reviseTrace(tx, queue, key, (stored) => stored),
  )
  t.equal(revised, undefined)
})

/** Jobs of the workers that run here. */
async function listOpen(orgId: string) {
  return sql`
    select name from pgboss.job
    where data ->> 'org_id' = ${orgId} and state < 'completed'
      and name in (${detectViolations.name}, ${retargetVerdicts.name})`
}

interface Owner {
  readonly orgId: string
  readonly projectId: string
  readonly manifestId: string
}
