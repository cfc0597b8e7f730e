import { createHash } from 'node:crypto'
import t from 'tap'
import { openService } from '../../support/service.ts'

t.test('skills', async (t) => {
  const service = await openService(t)

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const make = (name: string, more: object = {}) =>
      client.post('/skills', { name, body_markdown: `# ${name}\n\nDo it.`, ...more })
    return { org, client, make }
  }

  t.test('are made with their first version and read by name and by id', async (t) => {
    const { client } = await setup()
    const { status, body, headers } = await client.post('/skills', {
      name: 'order-lookup',
      body_markdown: '\r\n# Orders\r\n\r\nAsk for the number.\r\n  ',
      category: 'shop',
      trigger_phrases: ['where is my order'],
      frontmatter: { name: 'other', license: 'MIT', 'allowed-tools': ['Read'] },
    })
    t.equal(status, 201)
    t.match(body, {
      name: 'order-lookup',
      description: 'Ask for the number.',
      display_name: null,
      stability: 'stable',
      invocation: 'any',
      visibility: 'private',
      url_slug: null,
      has_upstream_update: false,
      is_active: true,
      latest_version: { version_number: 1 },
    })
    t.same(body.frontmatter, { license: 'MIT', 'allowed-tools': ['Read'] })
    const stored = '# Orders\r\n\r\nAsk for the number.'
    t.equal(body.latest_version.content_hash, createHash('sha256').update(stored).digest('hex'))
    t.equal(headers['location'], `/api/v1/skills/${body.id}`)
    for (const reference of ['order-lookup', body.id, body.id.toUpperCase()]) {
      t.same((await client.get(`/skills/${reference}`)).body, body, reference)
    }
    const version = await client.get('/skills/order-lookup/versions/1')
    t.match(version.body, {
      id: body.latest_version.id,
      body_markdown: stored,
      origin: 'create',
      author: 'test',
      frozen: false,
      safety_band: 'unreviewed',
      parent_version_id: null,
    })
    t.same((await client.get('/skills/order-lookup/versions/latest')).body, version.body)
    t.same((await client.get(`/skills/${body.id}/versions/${version.body.id}`)).body, version.body)
  })

  t.test('are refused with the member that is wrong', async (t) => {
    const { client, make } = await setup()
    const refused = async (body: object) => {
      const answer = await client.post('/skills', { name: 'fine', body_markdown: 'x', ...body })
      t.equal(answer.status, 422, JSON.stringify(answer.body).slice(0, 300))
      return answer.body.details.errors.map(({ field }: { field: string }) => field)
    }
    for (const name of ['', 'A', 'a_b', '-a', 'a-', 'a--b', 'x'.repeat(65), crypto.randomUUID()]) {
      t.same(await refused({ name }), ['body.name'])
    }
    for (const body of [
      'a\0',
      'a\ud800',
      '---\nname: x\n---\nx',
      '\n ---\r\n',
      'é'.repeat(131_073),
    ]) {
      t.same(await refused({ body_markdown: body }), ['body.body_markdown'])
    }
    t.same(await refused({ description: 'x'.repeat(1025) }), ['body.description'])
    t.same(await refused({ frontmatter: { x: 'x'.repeat(16_384) } }), ['body.frontmatter'])
    t.same(await refused({ frontmatter: { x: ['a\0'] } }), ['body.frontmatter'])
    const longKey = { x: [{ ['k'.repeat(1023)]: 1 }] }
    t.same(await refused({ frontmatter: longKey }), ['body.frontmatter'])
    t.same(await refused({ frontmatter: { 'a\ud800': 1 } }), ['body.frontmatter'])
    t.same(await refused({ stability: 'shaky' }), ['body.stability'])
    t.equal((await make('largest', { body_markdown: ` ${'é'.repeat(131_071)}xx` })).status, 201)
    const escapes = { x: '\\u0000 \\ud800 \\', y: '😀' }
    t.same((await make('escapes', { frontmatter: escapes })).body.frontmatter, escapes)
    t.equal((await make('rule', { body_markdown: '--- is a rule' })).status, 201)
    t.equal((await make('empty', { body_markdown: '' })).body.description, 'empty')
  })

  t.test('keep their name from others of the organization alone', async (t) => {
    const { make } = await setup()
    const made = await make('taken')
    const again = await make('taken')
    t.equal(again.status, 409)
    t.match(again.body, {
      code: 'conflict',
      detail: {
        message: String,
        resource: {
          type: 'skill',
          id: made.body.id,
          name: 'taken',
          version: 1,
          version_id: made.body.latest_version.id,
        },
      },
    })
    const stranger = await setup()
    t.equal((await stranger.client.get('/skills/taken')).status, 404)
    t.equal((await stranger.client.get(`/skills/${made.body.id}`)).status, 404)
    t.equal((await stranger.make('taken')).status, 201)
  })

  t.test('are listed newest first, by category and page', async (t) => {
    const { client, make } = await setup()
    for (const name of ['a', 'b', 'c']) await make(name, { category: name === 'b' ? 'x' : 'y' })
    const names = async (query: string) => {
      const { body } = await client.get(`/skills?${query}`)
      return { names: body.skills.map((s: { name: string }) => s.name), ...body }
    }
    t.match(await names(''), { names: ['c', 'b', 'a'], total: 3, next_cursor: null })
    t.match(await names('category=y'), { names: ['c', 'a'], total: 2 })
    const first = await names('limit=2')
    t.same(first.names, ['c', 'b'])
    t.same((await names(`limit=2&cursor=${first.next_cursor}`)).names, ['a'])
  })

  t.test('are 10,000 an organization at most', async (t) => {
    const { client, make, org } = await setup()
    await make('first')
    await service.sql`
      insert into skills (org_id, id, name, description, document)
      select ${org.orgId}, gen_random_uuid(), 'skill-' || n, 'x', '' from generate_series(1, 9998) n`
    t.equal((await make('last')).status, 201)
    const refused = await make('one-more')
    t.equal(refused.status, 400)
    t.match(refused.body.detail, /at most 10000 skills/)
    t.equal((await client.post('/skills/first/fork')).status, 400)
    const skills = ['first', 'one-more'].map((name) => ({ name, body_markdown: 'new' }))
    t.match((await client.post('/skills/sync', { skills })).body, {
      updated: 1,
      failures: [{ name: 'one-more', code: 'too_many_skills' }],
    })
    await client.delete('/skills/last')
    t.equal((await make('one-more')).status, 201, 'one that is deleted does not count')
  })

  t.test('have 1,000 versions at most', async (t) => {
    const { client, make, org } = await setup()
    await make('old')
    await service.sql`
      update skill_versions set version_number = 999 where org_id = ${org.orgId}`
    const put = (body_markdown: string) => client.put('/skills/old', { body_markdown })
    t.equal((await put('The last one.')).status, 200)
    const refused = { status: 409, body: { code: 'too_many_versions' } }
    t.match(await put('One more.'), refused)
    t.match(
      await client.post('/skills/old/apply-suggestion', { suggested_body: 'One more.' }),
      refused,
    )
    const file = { path: 'notes.txt', content: 'one' }
    t.equal((await client.post('/skills/old/attachments', file)).status, 201, 'it is not frozen')
    await service.sql`update skill_versions set frozen_at = now() where org_id = ${org.orgId}`
    t.equal((await client.post('/skills/old/attachments', file)).status, 200, 'nothing changes')
    const changed = { ...file, content: 'two' }
    t.match(await client.post('/skills/old/attachments', changed), refused)
    t.match(await client.delete('/skills/old/attachments/by-path/notes.txt'), refused)
    const skills = [{ name: 'old', body_markdown: 'One more.' }]
    t.match((await client.post('/skills/sync', { skills })).body, {
      failures: [{ name: 'old', code: 'too_many_versions' }],
    })
    t.equal((await client.put('/skills/old', { description: 'As before' })).status, 200)
  })

  t.test('get a version from a PUT that changes the body, and from no other', async (t) => {
    const { client, make } = await setup()
    const { body: made } = await make('s')
    const put = (body: object) => client.put('/skills/s', body)
    const described = await put({
      description: 'new',
      category: 'x',
      body_markdown: '# s\n\nDo it.\n',
    })
    t.match(described.body, {
      description: 'new',
      category: 'x',
      latest_version: made.latest_version,
    })
    t.match((await put({ body_markdown: 'second' })).body, {
      description: 'new',
      latest_version: { version_number: 2 },
    })
    t.match((await put({ category: null })).body, { category: null, description: 'new' })
    await put({ body_markdown: '# s\n\nDo it.', change_summary: 'back', author: 'me' })
    const { body: list } = await client.get('/skills/s/versions')
    t.match(list, {
      total: 3,
      versions: [
        {
          version_number: 3,
          origin: 'restore',
          author: 'me',
          change_summary: 'back',
          restored_from_version_id: made.latest_version.id,
          frozen: false,
        },
        { version_number: 2, frozen: true, parent_version_id: made.latest_version.id },
        { version_number: 1, frozen: true },
      ],
    })
    t.notOk('body_markdown' in list.versions[0])
    const page = await client.get('/skills/s/versions?limit=1')
    const rest = await client.get(`/skills/s/versions?cursor=${page.body.next_cursor}`)
    t.same(rest.body.versions, list.versions.slice(1))
    t.equal((await put({ name: 'other' })).status, 422)
    t.equal((await client.put('/skills/nobody', { description: 'x' })).status, 404)
    for (const version of ['0', '4', '9999999999', 'x', made.id]) {
      t.equal((await client.get(`/skills/s/versions/${version}`)).status, 404, version)
    }
  })
})
