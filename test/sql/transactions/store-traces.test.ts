import t from 'tap'
import type { Test } from 'tap'
import { DEFAULT_QUOTAS } from '../../../jobs/rules/org/plan.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { acceptTraces } from '../../../sql/transactions/store-traces.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

const { sql, context, makeOrganization, client: clientOf } = await openService(t)

t.test('drafts of several projects are activated in the order of the projects', async (t) => {
  const { orgId, workspaceId, key } = await makeOrganization()
  const client = clientOf(key)
  const projects = await Promise.all(
    ['one', 'two', 'three'].map(async (project) => {
      const named = { name: project, workspace_id: workspaceId }
      const { id: projectId } = (await client.post('/projects', named)).body
      const [, draft] = [await register(project, 'a'), await register(project, 'b')]
      await storeJudged(sql, { orgId, projectId }, [{ trace_id: 't', manifest_id: draft }])
      return { projectId: projectId as string, draft, traceIds: ['t'], finishedIds: [], scores: [] }
    }),
  )
  projects.sort((a, b) => (a.projectId < b.projectId ? -1 : 1))

  async function register(project: string, name: string): Promise<string> {
    const components = [{ type: 'tool', name }]
    const manifest = { agent_name: 'agent', project, components }
    return (await client.post('/manifests', manifest)).body.manifest_id
  }

  const charge = { orgId, quotas: DEFAULT_QUOTAS, at: new Date() }
  const activated = await listActivated(t, () =>
    sql.begin((tx: Transaction) => acceptTraces(tx, context.queue, charge, projects.toReversed())),
  )
  t.same(
    activated,
    projects.map(({ draft }) => draft),
  )
})

t.test('drafts of new and of finished traces are activated in one order', async (t) => {
  const { key } = await makeOrganization()
  const client = clientOf(key)
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) {
    const manifest = { agent_name: 'agent', components: [{ type: 'tool', name }] }
    ids.push((await client.post('/manifests', manifest)).body.manifest_id)
  }
  const drafts = ids.slice(1).sort()
  for (const [n, [finishedUnder, createdUnder]] of [drafts, drafts.toReversed()].entries()) {
    const running = { agent_name: 'agent', trace_id: `running ${n}` }
    await client.post('/traces', { ...running, status: 'running' })
    const activated = await listActivated(t, async () => {
      const { body } = await client.post('/traces/batch', [
        { ...running, manifest_id: finishedUnder },
        { agent_name: 'agent', trace_id: `new ${n}`, manifest_id: createdUnder },
      ])
      t.match(body, { count: 1, updated: 1 })
    })
    t.same(activated, drafts)
  }
})

t.test('who has enqueued an activation waits for no counter', async (t) => {
  const { orgId, projectId, key } = await makeOrganization()
  const client = clientOf(key)
  for (const name of ['a', 'b']) {
    const manifest = { agent_name: 'agent', components: [{ type: 'tool', name }] }
    const { manifest_id } = (await client.post('/manifests', manifest)).body
    await storeJudged(sql, { orgId, projectId }, [{ trace_id: name, manifest_id }])
  }
  await client.post('/traces', { agent_name: 'agent' })
  const counters = () => sql`select from usage where org_id = ${orgId} for update skip locked`
  t.equal((await counters()).length, 1)
  const free: number[] = []
  t.intercept(context.queue, 'enqueue', {
    value: async (_tx: unknown, { name }: { name: string }) => {
      if (name === 'manifests.activate') free.push((await counters()).length)
      return null
    },
  })
  const charge = { orgId, quotas: DEFAULT_QUOTAS, at: new Date() }
  const open = { projectId, traceIds: ['b'], openIds: ['b'], finishedIds: [], scores: [] }
  await sql.begin((tx: Transaction) => acceptTraces(tx, context.queue, charge, [open]))
  t.same(free, [0], 'it is locked by then')
})

/** The manifests whose activation is enqueued meanwhile, in order; no job is. */
async function listActivated(t: Test, work: () => Promise<unknown>) {
  const activated: unknown[] = []
  const { restore } = t.intercept(context.queue, 'enqueue', {
    value: async (_tx: unknown, { name }: { name: string }, { manifest_id }: Activation) => {
      if (name === 'manifests.activate') activated.push(manifest_id)
      return null
    },
  })
  await work()
  restore()
  return activated
}

interface Activation {
  manifest_id?: string
}
