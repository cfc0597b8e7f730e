import t from 'tap'
import { writableProject } from '../../../api/projects.ts'
import type { Principal } from '../../../api/principal.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('workspaces and projects', async (t) => {
  const service = await openService(t)

  async function makeKeys() {
    const org = await service.makeOrganization()
    const admin = service.client(org.key)
    const workspace = (await admin.post('/workspaces', { name: 'lab' })).body
    const project = (await admin.post('/projects', { name: 'p1', workspace_id: workspace.id })).body
    const within = { permissions: 'admin', workspace_id: workspace.id as string } as const
    const ofWorkspace = await makeTestKey(service.sql, org.orgId, { scope: 'workspace', ...within })
    const ofProject = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      ...within,
      project_id: project.id,
    })
    return { org, admin, workspace, project, ofWorkspace, ofProject }
  }

  t.test('are created by a global admin key, and audited', async (t) => {
    const { org, admin, workspace, project } = await makeKeys()
    t.match(workspace, { name: 'lab' })
    t.match(project, { name: 'p1', workspace_id: workspace.id })
    const inDefault = await admin.post('/projects', { name: 'p2', workspace_id: 'default' })
    t.match(inDefault, { status: 201, body: { workspace_id: org.workspaceId } })
    const events = await service.sql`
      select action, actor_key_id, resource_id, data from audit_events where org_id = ${org.orgId}
      order by id`
    t.match(events[0], {
      action: 'workspace.created',
      actor_key_id: org.keyId,
      resource_id: workspace.id,
      data: { name: 'lab' },
    })
    t.match(events[1], { action: 'project.created', resource_id: project.id })
  })

  t.test('have names of their own, and the taken one is told', async (t) => {
    const { admin, workspace, project } = await makeKeys()
    const taken = await admin.post('/workspaces', { name: 'lab' })
    t.match(taken, {
      status: 409,
      body: { code: 'conflict', detail: { resource: { type: 'workspace', id: workspace.id } } },
    })
    const again = await admin.post('/projects', { name: 'p1', workspace_id: 'default' })
    t.match(again, { status: 409, body: { detail: { resource: { id: project.id, name: 'p1' } } } })
    t.equal((await admin.post('/projects', { name: 'x', workspace_id: 'none' })).status, 404)
    t.equal((await admin.post('/workspaces', { name: project.id })).status, 422)
  })

  t.test('are listed as far as the key sees', async (t) => {
    const { admin, ofWorkspace, ofProject } = await makeKeys()
    const names = async (client: typeof admin, path: 'workspaces' | 'projects') => {
      const { body } = await client.get(`/${path}`)
      return body[path].map(({ name }: { name: string }) => name)
    }
    t.same(await names(admin, 'workspaces'), ['lab', 'default'])
    t.same(await names(admin, 'projects'), ['p1', 'default'])
    for (const { raw } of [ofWorkspace, ofProject]) {
      t.same(await names(service.client(raw), 'workspaces'), ['lab'])
      t.same(await names(service.client(raw), 'projects'), ['p1'])
    }
    const first = await admin.get('/projects?limit=1')
    t.match(first.body, { total: 2, limit: 1 })
    const second = await admin.get(`/projects?limit=1&cursor=${first.body.next_cursor}`)
    t.match(second.body, { projects: [{ name: 'default' }], next_cursor: null })
  })

  t.test('are not created by other keys', async (t) => {
    const { org, ofWorkspace, ofProject } = await makeKeys()
    const write = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'write',
    })
    for (const { raw } of [ofWorkspace, ofProject, write]) {
      t.equal((await service.client(raw).post('/workspaces', { name: 'x' })).status, 403)
      t.equal((await service.client(raw).post('/projects', { name: 'x' })).status, 403)
    }
  })

  t.test('a project is created by its first write, once and audited', async (t) => {
    const { org } = await makeKeys()
    const principal = { orgId: org.orgId, keyId: org.keyId, scope: 'global' } as Principal
    const made = await Promise.all(
      Array.from({ length: 8 }, () => writableProject(service.sql, principal, 'fresh')),
    )
    t.equal(new Set(made.map(({ id }) => id)).size, 1)
    t.equal(made[0]?.workspace_id, org.workspaceId)
    const [audited] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from audit_events
      where org_id = ${org.orgId} and resource_id = ${made[0]?.id as string}`
    t.equal(audited?.n, 1)
  })

  t.test('no project is created under a name that looks like an id', async (t) => {
    const { org } = await makeKeys()
    const principal = { orgId: org.orgId, keyId: org.keyId, scope: 'global' } as Principal
    await t.rejects(writableProject(service.sql, principal, crypto.randomUUID()), {
      status: 404,
    } as never)
  })
})
