import t from 'tap'
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
      return { projectId: projectId as string, draft, traceIds: ['t'], scores: [] }
    }),
  )
  projects.sort((a, b) => (a.projectId < b.projectId ? -1 : 1))

  async function register(project: string, name: string): Promise<string> {
    const components = [{ type: 'tool', name }]
    const manifest = { agent_name: 'agent', project, components }
    return (await client.post('/manifests', manifest)).body.manifest_id
  }

  const enqueued: unknown[] = []
  const { restore } = t.intercept(context.queue, 'enqueue', {
    value: async (_tx: unknown, { name }: { name: string }, { manifest_id }: Activation) => {
      if (name === 'manifests.activate') enqueued.push(manifest_id)
      return null
    },
  })
  const charge = { orgId, quotas: DEFAULT_QUOTAS, at: new Date() }
  await sql.begin((tx: Transaction) =>
    acceptTraces(tx, context.queue, charge, projects.toReversed()),
  )
  restore()
  t.same(
    enqueued,
    projects.map(({ draft }) => draft),
  )
})

interface Activation {
  manifest_id?: string
}
