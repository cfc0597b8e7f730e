import t from 'tap'
import { activateDraftHandler } from '../../../workers/regression/activate-draft.ts'
import { bisectRegressionHandler } from '../../../workers/regression/bisect-regression.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'
import { until } from '../../support/until.ts'

const service = await openService(t)
await service.startWorkers([checkRegressionHandler, bisectRegressionHandler, activateDraftHandler])

const tools = (name: string) => [{ component_type: 'tool', component_name: name }]

t.test('everything that happened is told, newest first', async (t) => {
  const { client, agentId } = await busyAgent()
  const { body } = await client.get('/changelog')
  t.same(
    body.events.map((event: { event_type: string }) => event.event_type),
    [
      'dataset_version.ready',
      'api_key.created',
      'regression.resolved',
      'regression.detected',
      'regression.accepted',
      'regression.checked',
      'manifest.registered',
      'manifest.registered',
    ],
  )
  const [ready, key, resolved, detected, accepted, checked, v2] = body.events
  t.match(ready, { type: 'training', data: { dataset_name: 'training', row_count: 3 } })
  t.match(key, { type: 'audit', actor: { type: 'api_key' }, agent_name: null })
  t.match(resolved, { actor: { type: 'api_key' }, data: { resolution: 'manual' } })
  t.match(detected, { agent_name: 'agent', resource: { type: 'regression_finding' } })
  t.match(accepted, { actor: { type: 'api_key' }, data: { note: 'fine' } })
  t.match(checked, { data: { verdict: 'unverified' } })
  t.match(v2, {
    type: 'manifest',
    title: 'agent v2 registered',
    resource: { type: 'manifest', id: agentId },
    data: { version_label: 'v2', previous_version_label: 'v1', status: 'active' },
  })
  t.equal(body.next_cursor, null)
})

t.test('names the thing and who did it', async (t) => {
  const { client } = await busyAgent()
  const { body: made } = await client.post('/api-keys', { label: 'nightly', scope: 'global' })
  await client.delete(`/api-keys/${made.id}`)
  await client.post('/workspaces', { name: 'research' })
  const { body } = await client.get('/changelog')
  const told = (event_type: string) =>
    body.events.find((event: { event_type: string }) => event.event_type === event_type)
  const by = { type: 'api_key', id: String, name: 'test' }
  t.match(told('workspace.created'), {
    title: "Workspace 'research' created",
    summary: "Workspace 'research' was created by API key 'test'.",
    actor: by,
    resource: { type: 'workspace', name: 'research' },
  })
  t.match(told('api_key.revoked'), {
    summary: "API key 'nightly' was revoked by API key 'test'.",
    actor: by,
    resource: { type: 'api_key', id: made.id, name: 'nightly' },
  })
  t.match(told('manifest.registered'), {
    summary: "Version v2 of agent was registered by API key 'test' after v1, and is active.",
    actor: by,
  })
  t.match(told('regression.checked'), {
    summary: "A regression check of agent v2, asked for by API key 'test', came to unverified.",
    actor: by,
    resource: { name: 'agent v2' },
  })
  t.match(told('regression.accepted'), {
    title: 'agent v2 accepted',
    summary: "The candidate agent v2 with verdict unverified was accepted by API key 'test'.",
    actor: by,
  })
  t.match(told('regression.resolved'), { summary: /by API key 'test'\.$/, actor: by })
  t.match(told('regression.detected'), { actor: { type: 'system', id: null, name: null } })
  t.match(told('dataset_version.ready'), { resource: { name: 'training v1' } })
})

t.test('names who activated a version, and nobody where traffic did', async (t) => {
  const { client, register, propose } = await registeredAgent(service)
  const first = await register(tools('a'))
  const second = await propose(tools('b'))
  await client.post(`/manifests/${second}/activate`)
  await client.post('/manifests', { agent_name: 'agent', components: tools('a') })
  const third = await propose(tools('c'))
  await client.post('/traces', { agent_name: 'agent', manifest_id: third })
  await until(async () => (await client.get(`/manifests/${third}`)).body.status === 'active')
  const { body } = await client.get('/changelog')
  const activations = body.events.filter(({ event_type: type }: { event_type: string }) =>
    ['manifest.activated', 'manifest.reactivated'].includes(type),
  )
  const by = { type: 'api_key', name: 'test' }
  t.match(activations, [
    {
      resource: { id: third },
      actor: { type: 'system', id: null, name: null },
      summary: 'Version v3 of agent was activated after v1.',
    },
    {
      resource: { id: first },
      actor: by,
      summary: "Version v1 of agent was activated again by API key 'test' after v2.",
    },
    {
      resource: { id: second },
      actor: by,
      summary: "Version v2 of agent was activated by API key 'test' after v1.",
    },
  ])
})

t.test('types and since leave the rest out, a wrong word is 422', async (t) => {
  const { client } = await busyAgent()
  const { body: all } = await client.get('/changelog')
  const { body } = await client.get('/changelog?types=manifest,training')
  t.same(
    body.events.map((event: { type: string }) => event.type),
    ['training', 'manifest', 'manifest'],
  )
  t.equal((await client.get('/changelog?types=manifest,news')).status, 422)
  const since = encodeURIComponent(all.events[5].occurred_at)
  const { body: later } = await client.get(`/changelog?since=${since}`)
  t.same(
    later.events,
    all.events.filter((e: { occurred_at: string }) => e.occurred_at > all.events[5].occurred_at),
  )
  t.equal((await client.get('/changelog?limit=201')).status, 422)
})

t.test('pages by cursor hold every event once', async (t) => {
  const { client } = await busyAgent()
  const { body: all } = await client.get('/changelog')
  const seen: unknown[] = []
  let cursor = ''
  do {
    const { body } = await client.get(`/changelog?limit=3${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.events)
    cursor = body.next_cursor
  } while (cursor)
  t.same(seen, all.events)
})

t.test('agents of tests are hidden unless asked for', async (t) => {
  const { client, register, traces } = await registeredAgent(service)
  await client.post('/manifests', {
    agent_name: 'by manifest',
    components: tools('a'),
    metadata: { fixture: true },
  })
  const v1 = await register(tools('a'))
  t.equal((await client.get('/changelog')).body.events.length, 1)
  await traces(v1, 1, { tool: 'search', more: () => ({ metadata: { fixture: true } }) })
  t.same((await client.get('/changelog')).body.events, [])
  const { body } = await client.get('/changelog?include_fixtures=true')
  t.match(body.events, [{ is_fixture: true }, { is_fixture: true }])
})

t.test('a project’s key sees what is about its project, and no audit', async (t) => {
  const { client, orgId, workspaceId, projectId } = await busyAgent()
  const { body: apart } = await client.post('/projects', {
    name: 'apart',
    workspace_id: workspaceId,
  })
  const eventsFor = async (project_id: string) => {
    const scope = { scope: 'project', permissions: 'read', project_id } as const
    const { raw } = await makeTestKey(service.sql, orgId, scope)
    return (await service.client(raw).get('/changelog')).body.events
  }
  t.same(await eventsFor(apart.id), [])
  const own = await eventsFor(projectId)
  t.equal(own.length, 7)
  t.notOk(own.some(({ type }: { type: string }) => type === 'audit'))
  const stranger = await service.makeOrganization()
  t.same((await service.client(stranger.key).get('/changelog')).body.events, [])
})

/** An agent to which one thing of each kind has happened. */
async function busyAgent() {
  const agent = await registeredAgent(service)
  const { client, register, traces } = agent
  const v1 = await register(tools('a'))
  const agentId = await register(tools('b'))
  const check = await client.post('/regression-check', {
    agent_name: 'agent',
    candidate_manifest_id: agentId,
    baseline_manifest_id: v1,
  })
  await traces(v1, 60, { tool: 'search', quality: (i) => 0.9 - (i % 2) / 10 })
  await traces(agentId, 60, { tool: 'search', quality: (i) => 0.6 - (i % 2) / 10 })
  await client.post(`/regression-check/${check.body.id}/decision`, {
    human_decision: 'accepted',
    note: 'fine',
  })
  const { body } = await client.post('/agents/agent/bisect')
  await client.post(`/agents/agent/bisect/findings/${body.findings[0].id}/resolve`)
  await client.post('/api-keys', { label: 'ci', scope: 'global', permissions: 'read' })
  await storeVersion(service.sql, agent, 3)
  return { ...agent, agentId }
}
