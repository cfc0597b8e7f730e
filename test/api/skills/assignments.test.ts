import t from 'tap'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('assignments', async (t) => {
  const service = await openService(t)
  const { sql } = service
  let organizations = 0

  async function setup() {
    const org = await service.makeOrganization()
    const handle = `owner${++organizations}`
    await nameOrganization(sql, org.orgId, handle)
    const client = service.client(org.key)
    const agentsOf = async (skill: string, query = '') => {
      const { body } = await client.get(`/skills/${skill}/subscriptions${query}`)
      return body.subscriptions.map(({ agent_name }: { agent_name: string }) => agent_name)
    }
    return { ...org, handle, client, agentsOf }
  }

  /** A public skill of another organization, of two versions. */
  async function makePublic(name: string, bands: ('passed' | 'blocked')[] = ['passed', 'passed']) {
    const owner = await setup()
    const versions = bands.map((band, i) => ({ body: `Version ${i + 1}`, band }))
    const skill = await makeSkill(sql, owner.orgId, { name }, versions)
    await publishSkill(sql, skill)
    return {
      ...skill,
      owner,
      registryName: `${owner.handle}/${name}`,
      slug: `${owner.handle}-${name}`,
    }
  }

  t.test('of an own skill are made, pinned, listed and ended', async (t) => {
    const { orgId, projectId, keyId, client, agentsOf } = await setup()
    const skill = await makeSkill(sql, orgId, { name: 'deploy' }, [
      { body: 'One' },
      { body: 'Two' },
    ])
    const made = await client.post('/skills/deploy/assign', { agent_name: 'a' })
    t.equal(made.status, 201)
    t.match(made.body, {
      agent_name: 'a',
      project_id: projectId,
      skill_id: skill.id,
      skill_name: 'deploy',
      version_id: null,
      subscribed_by_user_id: null,
      subscribed_by_key_id: keyId,
      subscribed_at: String,
      already: false,
    })
    const again = await client.post('/skills/deploy/assign', { agent_name: 'a' })
    t.match(again, { status: 200, body: { ...made.body, already: true } })
    const pinned = await client.post(`/skills/${skill.id}/assign`, { agent_name: 'a', version: 1 })
    const { already: _, ...subscription } = pinned.body
    t.match(pinned, {
      status: 200,
      body: { ...made.body, version_id: skill.versionIds[0], already: true },
    })
    await client.post('/skills/deploy/subscribe', { agent_name: 'b', version: '2' })
    const byId = { agent_name: 'b', version: skill.versionIds[1] }
    t.match((await client.post('/skills/deploy/assign', byId)).body, {
      version_id: skill.versionIds[1],
    })
    const listed = await client.get('/skills/deploy/subscriptions')
    t.match(listed.body, {
      subscriptions: [subscription, { agent_name: 'b', version_id: skill.versionIds[1] }],
      total: 2,
    })
    t.same((await client.get('/skills/deploy/subscribers')).body, listed.body)
    t.same(await agentsOf('deploy', '?limit=1&offset=1'), ['b'])
    const latest = await client.post('/skills/deploy/assign', {
      agent_name: 'a',
      version: 'latest',
    })
    t.equal(latest.body.version_id, null)

    const end = () => client.delete('/skills/deploy/assign', { agent_name: 'a' })
    t.match(await end(), { status: 200, body: { status: 'ok', removed: true } })
    t.match(await end(), { status: 200, body: { status: 'ok', removed: false } })
    t.same(await agentsOf('deploy'), ['b'])
  })

  t.test('are ended by the deprecated path too, which says so', async (t) => {
    const { orgId, client, agentsOf } = await setup()
    await makeSkill(sql, orgId, { name: 'deploy' })
    await client.post('/skills/deploy/assign', { agent_name: 'a' })
    const { status, headers } = await client.delete('/skills/deploy/subscribe', { agent_name: 'a' })
    t.equal(status, 200)
    t.match(headers, {
      deprecation: /^@\d+$/,
      link: '</api/v1/skills/deploy/assign>; rel="successor-version"',
    })
    t.same(await agentsOf('deploy'), [])
    const made = await client.post('/skills/deploy/subscribe', { agent_name: 'a' })
    t.notOk('deprecation' in made.headers)
  })

  t.test('are refused for a skill, version or body that there is not', async (t) => {
    const { orgId, client, agentsOf } = await setup()
    await makeSkill(sql, orgId, { name: 'deploy' })
    const post = (path: string, body: object) => client.post(`/skills/${path}/assign`, body)
    t.equal((await post('none', { agent_name: 'a' })).status, 404)
    t.equal((await post('deploy', { agent_name: 'a', version: 2 })).status, 404)
    for (const version of ['newest', '0', '-1', '99999999999', orgId]) {
      t.equal((await post('deploy', { agent_name: 'a', version })).status, 404, version)
    }
    t.equal((await post('deploy', {})).status, 422)
    t.equal((await client.delete('/skills/deploy/assign')).status, 422)
    t.equal((await client.delete('/skills/none/assign', { agent_name: 'a' })).status, 404)
    t.equal((await client.get('/skills/none/subscriptions')).status, 404)
    t.same(await agentsOf('deploy'), [])
  })

  t.test('of a public skill are made by any of its names', async (t) => {
    const { client, agentsOf } = await setup()
    const { id, registryName, slug, versionIds } = await makePublic('forms')
    for (const [i, name] of [id, encodeURIComponent(registryName), slug, 'forms'].entries()) {
      const { status, body } = await client.post(`/skills/${name}/assign`, { agent_name: `a${i}` })
      t.equal(status, 201, name)
      t.match(body, { skill_id: id, skill_name: registryName, version_id: null })
    }
    const pinned = await client.post(`/skills/${slug}/assign`, { agent_name: 'a0', version: 1 })
    t.match(pinned, { status: 200, body: { version_id: versionIds[0] } })
    t.equal(
      (await client.post(`/skills/${slug}/assign`, { agent_name: 'x', version: 3 })).status,
      404,
    )
    t.same(await agentsOf('forms'), ['a0', 'a1', 'a2', 'a3'])
  })

  t.test('of a name that several have are refused with their names', async (t) => {
    const { client, orgId } = await setup()
    const one = await makePublic('shared')
    const other = await makePublic('shared')
    const { status, body } = await client.post('/skills/shared/assign', { agent_name: 'a' })
    t.equal(status, 400)
    for (const { registryName } of [one, other]) t.ok(body.detail.includes(registryName))
    const own = await makeSkill(sql, orgId, { name: 'shared' })
    const made = await client.post('/skills/shared/assign', { agent_name: 'a' })
    t.match(made, { status: 201, body: { skill_id: own.id } }, 'the own one comes first')
  })

  t.test("cannot be made of another's private or withheld skill", async (t) => {
    const { client } = await setup()
    const stranger = await setup()
    const hidden = await makeSkill(sql, stranger.orgId, { name: 'hidden' })
    const refused = await client.post(`/skills/${hidden.id}/assign`, { agent_name: 'a' })
    const missing = await client.post(`/skills/${stranger.orgId}/assign`, { agent_name: 'a' })
    t.equal(refused.status, 404)
    t.equal(refused.body.detail, missing.body.detail)
    const { slug } = await makePublic('bad', ['passed', 'blocked'])
    const post = (version: number) =>
      client.post(`/skills/${slug}/assign`, { agent_name: 'a', version })
    t.match(await post(2), { status: 409, body: { code: 'withheld' } })
    t.equal((await post(1)).status, 201)
  })

  t.test('outlive the skill in the registry, and can be ended then', async (t) => {
    const { client, agentsOf } = await setup()
    const { id, slug } = await makePublic('brief')
    await client.post(`/skills/${slug}/assign`, { agent_name: 'a' })
    await client.post(`/skills/${slug}/assign`, { agent_name: 'b' })
    await sql`delete from registry_skills where skill_id = ${id}`
    t.same(await agentsOf(slug), ['a', 'b'])
    t.equal((await client.post(`/skills/${slug}/assign`, { agent_name: 'c' })).status, 404)
    for (const [name, agent_name] of [
      [slug, 'a'],
      [id, 'b'],
    ]) {
      const { body } = await client.delete(`/skills/${name}/assign`, { agent_name })
      t.equal(body.removed, true)
    }
    t.equal((await client.get(`/skills/${slug}/subscriptions`)).status, 404)
  })

  t.test('are of a project, and seen by the keys that see it', async (t) => {
    const { orgId, workspaceId, client, agentsOf } = await setup()
    await makeSkill(sql, orgId, { name: 'deploy' })
    const other = (await client.post('/projects', { name: 'other', workspace_id: workspaceId }))
      .body
    await client.post('/skills/deploy/assign', { agent_name: 'a' })
    await client.post('/skills/deploy/assign', { agent_name: 'a', project: 'other' })
    t.same(await agentsOf('deploy'), ['a', 'a'])
    t.same(await agentsOf('deploy', '?project=other'), ['a'])
    const key = await makeTestKey(sql, orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: workspaceId,
      project_id: other.id,
    })
    const scoped = service.client(key.raw)
    t.match((await scoped.get('/skills/deploy/subscriptions')).body, {
      subscriptions: [{ agent_name: 'a', project_id: other.id }],
      total: 1,
    })
    const foreign = { agent_name: 'a', project: 'default' }
    t.equal((await scoped.post('/skills/deploy/assign', foreign)).status, 403)
    t.equal((await scoped.delete('/skills/deploy/assign', foreign)).status, 403)
    t.equal((await scoped.delete('/skills/deploy/assign', { agent_name: 'a' })).body.removed, true)
    t.same(await agentsOf('deploy', '?project=default'), ['a'])
  })

  t.test("are not another organization's", async (t) => {
    const { client } = await setup()
    const { slug } = await makePublic('common')
    await client.post(`/skills/${slug}/assign`, { agent_name: 'a' })
    const other = await setup()
    t.same(await other.agentsOf(slug), [])
    const { body } = await other.client.delete(`/skills/${slug}/assign`, { agent_name: 'a' })
    t.equal(body.removed, false)
  })
})
