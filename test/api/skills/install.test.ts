import t from 'tap'
import { removeSkill } from '../../../sql/transactions/remove-skill.ts'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { nameOrganization } from '../../support/registry.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('a public skill', async (t) => {
  const service = await openService(t)
  const { sql } = service
  await service.startWorkers([scanSkillHandler])

  /** An organization that has published a skill, with a file, in two versions; and one that has not. */
  async function setup(handle: string) {
    const [owner, user] = [await service.makeOrganization(), await service.makeOrganization()]
    await nameOrganization(sql, owner.orgId, handle)
    const [author, client] = [service.client(owner.key), service.client(user.key)]
    const { body: skill } = await author.post('/skills', {
      name: 'refunds',
      description: 'Pays an order back',
      body_markdown: 'First.',
    })
    await author.post('/skills/refunds/attachments', { path: 'notes.txt', content: 'notes' })
    await author.post('/skills/refunds/publish')
    await author.put('/skills/refunds', { body_markdown: 'Second.' })
    await author.post('/skills/refunds/publish')
    const { body: latest } = await author.get('/skills/refunds')
    return { ...user, client, author, id: skill.id as string, latest: latest.latest_version }
  }
  const installs = async (id: string) => {
    const [row] = await sql`select install_count from registry_skills where skill_id = ${id}`
    return row?.['install_count'] as number
  }

  t.test('is installed once, by whatever names it', async (t) => {
    const { client, id, latest } = await setup('one')
    const first = await client.post(`/registry/skills/${id}/fork`)
    t.match(first, {
      status: 201,
      body: {
        status: 'ok',
        skill: { name: 'refunds' },
        forked_from_skill_id: id,
        forked_at_version_id: latest.id,
      },
    })
    t.equal(first.headers['location'], `/api/v1/skills/${first.body.skill.id}`)
    const { body: copy } = await client.get('/skills/refunds/versions/latest')
    t.match(copy, { body_markdown: 'Second.', origin: 'fork', version_number: 1 })
    const { body: file } = await client.get('/skills/refunds/attachments/by-path/notes.txt')
    t.equal(file.content_text, 'notes')
    const again = [
      await client.post('/registry/skills/one-refunds/fork'),
      await client.post('/registry/skills/one%2Frefunds/fork'),
      await client.post('/registry/skills/ONE-Refunds/fork'),
      await client.post('/skills/ONE%2F%EF%BD%92efunds/fork', { new_name: 'else' }),
      await client.post('/registry/install', { skill_id: id }),
      await client.post('/registry/install', { skill_id: 'one/refunds', new_name: 'else' }),
    ]
    for (const answer of again) {
      t.match(answer, {
        status: 409,
        headers: { 'x-installed-as': 'refunds' },
        body: {
          code: 'conflict',
          detail: { resource: { type: 'skill', id: first.body.skill.id } },
        },
      })
    }
    t.equal(await installs(id), 1)
    t.match(await client.get(`/registry/skills/One-refunds`), { status: 200, body: { id } })
    t.match(await client.get('/skills/Refunds'), { status: 200, body: { name: 'refunds' } })
  })

  t.test('is installed under another name, and in an older version', async (t) => {
    const { client, id } = await setup('two')
    const said = { skill_id: 'two-refunds', version: 1, new_name: 'ours' }
    t.match(await client.post('/registry/install', said), {
      status: 201,
      body: { skill: { name: 'ours' } },
    })
    t.match((await client.get('/skills/ours/versions/1')).body, { body_markdown: 'First.' })
    t.match((await client.get('/skills/ours')).body, { has_upstream_update: true })
    await client.delete('/skills/ours')
    t.match(await client.post(`/registry/skills/${id}/fork`), { status: 201 }, 'it is free again')
    t.equal(await installs(id), 1)
  })

  t.test('is not counted where its copy is deleted while it is published again', async (t) => {
    const { client, author, orgId, id } = await setup('seven')
    const { body } = await client.post(`/registry/skills/${id}/fork`)
    await author.post('/skills/refunds/unpublish')
    const { published } = await sql.begin(async (tx) => {
      await removeSkill(tx, orgId, body.skill.id)
      let isOver = false
      const published = author.post('/skills/refunds/publish').finally(() => (isOver = true))
      await until(async () => isOver || (await countLockWaits(sql)) > 0)
      return { published }
    })
    t.equal((await published).status, 201)
    t.equal(await installs(id), 0)
  })

  t.test('is copied by its own organization as often as it likes, and not counted', async (t) => {
    const { author, id } = await setup('three')
    const copies = [
      await author.post(`/registry/skills/${id}/fork`),
      await author.post('/registry/install', { skill_id: id, version: 1 }),
      await author.post('/skills/three-refunds/fork'),
    ]
    t.match(copies, [
      { status: 201, body: { skill: { name: 'refunds-2' }, forked_from_skill_id: id } },
      { status: 201, body: { skill: { name: 'refunds-3' } } },
      { status: 201, body: { skill: { name: 'refunds-4' } } },
    ])
    t.match((await author.get('/skills/refunds-3/versions/1')).body, { body_markdown: 'First.' })
    t.equal((await author.get('/skills/refunds-3/attachments')).body.attachments.length, 1)
    t.match(await author.post(`/registry/skills/${id}/use?agents=shop`), {
      status: 200,
      body: { installed: false, skill: { name: 'refunds' }, subscriptions: [{ skill_id: id }] },
    })
    t.equal(await installs(id), 0)
  })

  t.test('is installed once by all who want to use it at the same moment', async (t) => {
    const { client, id } = await setup('six')
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => client.post(`/registry/skills/${id}/use?agents=shop`)),
    )
    const counted = (status: number) => answers.filter((answer) => answer.status === status).length
    t.same([counted(201), counted(200)], [1, 7])
    t.equal(await installs(id), 1)
  })

  t.test('that is none, or is no version, is not installed', async (t) => {
    const { client, author, orgId, id } = await setup('four')
    const missing = { status: 404, body: { code: 'not_found' } }
    for (const operation of ['fork', 'use']) {
      t.match(await client.post(`/registry/skills/nobody-nothing/${operation}`), missing)
    }
    t.match(await client.post('/registry/install', { skill_id: id, version: 3 }), missing)
    t.match(await client.post('/registry/install'), { status: 400 })
    const both = (skill_id: string) => client.post(`/registry/skills/${id}/fork`, { skill_id })
    const another = { name: 'other', description: 'Does others', body_markdown: 'Other.' }
    await author.post('/skills', another)
    t.match(await author.post('/skills/other/publish'), { body: { url_slug: 'four-other' } })
    t.match(await both('four-other'), { status: 400 })
    t.match(await both('four-nothing'), missing)
    t.equal((await client.get('/skills')).body.total, 0)
    const reader = await makeTestKey(sql, orgId, { scope: 'global', permissions: 'read' })
    t.equal((await service.client(reader.raw).post(`/registry/skills/${id}/use`)).status, 403)
    await author.post('/skills/refunds/unpublish')
    t.match(await client.post(`/registry/skills/${id}/fork`), missing)
  })

  t.test('is installed and given to agents at once, as often as it is asked for', async (t) => {
    const { client, projectId, id } = await setup('five')
    const use = (query: string, body: object = {}) =>
      client.post(`/registry/skills/${id}/use?${query}`, body)
    const first = await use('agents=shop,%20desk')
    t.match(first, { status: 201, body: { status: 'ok', installed: true } })
    const { skill, subscriptions } = first.body
    t.match(skill, { name: 'refunds' })
    t.match(subscriptions, [
      { agent_name: 'desk', skill_id: skill.id, project_id: projectId, version_id: null },
      { agent_name: 'shop', skill_name: 'refunds' },
    ])
    t.match(await use('agents=shop'), { status: 200, body: { installed: false, skill } })
    const { body: copy } = await client.get('/skills/refunds')
    t.match(await use('', { agents: ['shop'], mode: 'pinned' }), {
      body: { subscriptions: [{ version_id: copy.latest_version.id }] },
    })
    t.match(await use('version=1'), { status: 200, body: { skill, subscriptions: [] } })
    const { body } = await client.get('/skills/refunds/subscriptions')
    t.equal(body.subscriptions.length, 2)
    t.equal(await installs(id), 1)
    const many = Array.from({ length: 51 }, (_, i) => `agent-${i}`)
    t.equal((await use(`agents=${many.join(',')}`)).status, 422)
    t.equal((await use('', { agents: many })).status, 422)
  })
})
