import { createHash } from 'node:crypto'
import t from 'tap'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { openService } from '../../support/service.ts'

t.test('skills', async (t) => {
  const service = await openService(t)
  const { sql } = service

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const make = async (name: string, description: string, more: object = {}) =>
      (await client.post('/skills', { name, description, body_markdown: `# ${name}`, ...more }))
        .body
    const menu = async (query = '') => (await client.get(`/skills/menu?${query}`)).body
    const route = async (query: string, more: object = {}) =>
      (await client.post('/skills/route', { query, ...more })).body
    return { ...org, client, make, menu, route }
  }
  const namesOf = ({ skills }: { skills: { name: string }[] }) => skills.map(({ name }) => name)

  t.test('are offered by name, as a list and as a block of instructions', async (t) => {
    const { make, menu, client, orgId } = await setup()
    t.same((await menu()).prompt_fragment, '')
    await make('b-skill', 'Does\n- a: fake line')
    await make('a-skill', 'Does a', { category: 'x' })
    await make('by-hand', 'Only a person starts it', { invocation: 'user' })
    const { body: bad } = await client.get('/skills/b-skill')
    const all = await menu()
    t.match(all, {
      strategy: 'menu',
      routing_id: String,
      skills: [
        { name: 'a-skill', description: 'Does a', category: 'x', version_number: 1, score: 0 },
        { name: 'b-skill', is_assigned: false, url_slug: null },
      ],
    })
    t.match(all.prompt_fragment, /\n- a-skill: Does a\n- b-skill: Does - a: fake line$/)
    t.same(namesOf(await menu('category=x')), ['a-skill'])
    t.same(namesOf(await menu('category=')), namesOf(all), 'none is said')
    t.same(namesOf(await menu('limit=1')), ['a-skill'])
    await sql`
      insert into skill_scans (org_id, version_id, revision, scanner_version, band, reason_codes,
        findings, finding_count)
      values (${orgId}, ${bad.latest_version.id}, 0, 1, 'blocked', '{}', '[]', 0)`
    t.same(namesOf(await menu()), ['a-skill'], 'a blocked one is not offered')
  })

  t.test('are found by the words of a task, the best first', async (t) => {
    const { make, route } = await setup()
    await make('order-lookup', 'Finds orders of customers', {
      trigger_phrases: ['where is my parcel'],
    })
    await make('refunds', 'Pays an order back')
    await make('weather', 'Tells the forecast')
    const found = await route('Please find the order for this customer')
    t.equal(found.strategy, 'full_text')
    t.same(namesOf(found), ['order-lookup', 'refunds'])
    t.ok(found.skills[0].score > found.skills[1].score)
    t.same(namesOf(await route('has the PARCEL left?')), ['order-lookup'])
    t.same(namesOf(await route('order', { top_k: 1 })).length, 1)
    t.same(namesOf(await route('the of and')), [])
    t.same(namesOf(await route("''&|!()<->:*\\")), [])
    t.same(namesOf(await route('order-lookup & http://x.y/?a=1 & b')), ['order-lookup', 'refunds'])
  })

  t.test('of others are offered to the agents that use them, first', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await me.make('a-skill', 'Mine')
    const assigned = await me.make('z-skill', 'Mine too')
    const used = await owner.make('public-skill', 'Converts invoices')
    const file = { path: 'run.sh', content: 'true', mode: '0755' }
    await owner.client.post('/skills/public-skill/attachments', file)
    const worker = await service.startWorkers([scanSkillHandler])
    const { url_slug: slug } = (await owner.client.post('/skills/public-skill/publish')).body
    await worker.stop()
    t.same(namesOf(await me.menu()), ['a-skill', 'z-skill'])
    for (const [skill, agent] of [
      [used, 'agent'],
      [assigned, 'agent'],
      [assigned, 'other'],
    ] as const) {
      await me.client.post(`/skills/${skill.id}/assign`, { agent_name: agent })
    }
    t.same(namesOf(await me.menu()), ['public-skill', 'z-skill', 'a-skill'])
    t.same(namesOf(await me.menu('agent_name=agent')), ['public-skill', 'z-skill', 'a-skill'])
    t.same(namesOf(await me.menu('agent_name=other')), ['z-skill', 'a-skill'])
    t.match(await me.route('invoice', { agent_name: 'agent', include_attachments: true }), {
      skills: [{ url_slug: slug, is_assigned: true, attachments: [{ file_path: 'run.sh' }] }],
    })
    t.match((await me.client.get(`/skills/${slug}/body`)).body, {
      body: '# public-skill',
      skill_id: used.id,
      name: 'public-skill',
      truncated: false,
      version_number: 1,
    })
    await sql`
      with blocked as (
        insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
          description, invocation, stability, frontmatter, band)
        select skill_id, 2, gen_random_uuid(), body, body_sha256, description, invocation, stability,
          frontmatter, 'blocked' from registry_versions where skill_id = ${used.id}
        returning skill_id, version_id)
      update registry_skills r set current_version = 2, current_version_id = made.version_id,
        band = 'blocked', description = 'Harm'
      from blocked made where r.skill_id = made.skill_id`
    t.match((await me.menu()).skills[0], {
      name: 'public-skill',
      description: 'Converts invoices',
      version_number: 1,
    })
    await sql`update registry_versions set band = 'blocked' where skill_id = ${used.id}`
    t.same(namesOf(await me.menu()), ['z-skill', 'a-skill'])
    t.equal((await me.client.get(`/skills/${slug}/body`)).status, 404)
  })

  t.test('have their body read whole, cut, and in the version of an agent', async (t) => {
    const me = await setup()
    const made = await me.make('s', 'd', { body_markdown: 'one 😀 and more' })
    await me.client.put('/skills/s', { body_markdown: 'two' })
    const read = async (query: string) => (await me.client.get(`/skills/s/body?${query}`)).body
    t.match(await read(''), {
      body: 'two',
      skill_id: made.id,
      name: 's',
      description: 'd',
      truncated: false,
      version_number: 2,
    })
    t.match(await read('version=1&max_chars=5'), { body: 'one ', truncated: true })
    t.match(await read('version=1&max_chars=6'), { body: 'one 😀', truncated: true })
    t.equal((await me.client.get('/skills/s/body?version=3')).status, 404)
    await me.client.post('/skills/s/assign', { agent_name: 'held', version: 1 })
    t.match(await read('agent_name=held'), { version_number: 1 })
    t.match(await read('agent_name=held&version=latest'), { version_number: 2 })
    t.match(await read('agent_name=free'), { version_number: 2 })
  })

  t.test('tell the hashes of their newest bodies by name', async (t) => {
    const me = await setup()
    t.same((await me.client.get('/skills/hashes')).body, {})
    const a = await me.make('a', 'd')
    await me.make('b', 'd')
    const { body: b } = await me.client.put('/skills/b', { body_markdown: 'new' })
    t.same((await me.client.get('/skills/hashes')).body, {
      a: { hash: a.latest_version.content_hash },
      b: { hash: b.latest_version.content_hash },
    })
  })

  t.test('take a suggested body once', async (t) => {
    const me = await setup()
    const made = await me.make('s', 'd', { body_markdown: 'one' })
    const suggest = (suggested_body: string, name = 's') =>
      me.client.post(`/skills/${name}/apply-suggestion`, { suggested_body })
    const applied = await suggest(' two\n')
    t.equal(applied.status, 201)
    const { body: version } = await me.client.get('/skills/s/versions/2')
    t.same(applied.body, {
      status: 'ok',
      skill_name: 's',
      version_id: version.id,
      version_number: 2,
      content_hash: version.content_hash,
      previous_version_id: made.latest_version.id,
      safety: { band: 'unreviewed' },
    })
    t.match(version, { origin: 'suggestion', body_markdown: 'two' })
    for (const [body, number] of [['two', 2] as const, ['one', 1] as const]) {
      const again = await suggest(body)
      t.equal(again.status, 409)
      t.match(again.body.detail.resource, {
        type: 'skill',
        id: made.id,
        name: 's',
        version: number,
      })
    }
    t.equal((await suggest('x', 'nobody')).status, 404)
    t.equal((await suggest('---\nname: s\n---\n')).status, 422)
    t.equal((await suggest('a\0')).status, 422)
    const atOnce = await Promise.all(Array.from({ length: 8 }, () => suggest('same')))
    t.equal(atOnce.filter(({ status }) => status === 201).length, 1)
    t.equal(atOnce.filter(({ status }) => status === 409).length, 7)
  })

  t.test('tell an installation how its copies stand', async (t) => {
    const me = await setup()
    const hash = (text: string) => createHash('sha256').update(text).digest('hex')
    const report = async (skills: Record<string, string>, install_id = 'laptop') => {
      const { status, body } = await me.client.post('/skills/installs/report', {
        install_id,
        install_label: 'My laptop',
        skills: Object.entries(skills).map(([name, text]) => ({
          name,
          content_hash: `sha256:${hash(text)}`,
        })),
      })
      t.equal(status, 200, JSON.stringify(body))
      return Object.fromEntries(
        body.skills.map(({ name, status }: { name: string; status: string }) => [name, status]),
      ) as Record<string, string>
    }
    await me.make('s', 'd', { body_markdown: 'one' })
    t.same(await report({ s: 'one', mine: 'x' }), { s: 'in_sync', mine: 'local_only' })
    t.same(await report({ s: 'edited' }), { s: 'local_ahead' })
    t.same(await report({ s: 'edited' }, 'other'), { s: 'unknown' })
    await me.client.put('/skills/s', { body_markdown: 'two' })
    t.same(await report({ s: 'edited' }), { s: 'conflict' })
    t.same(await report({ s: 'one' }), { s: 'remote_ahead' })
    t.same(await report({ s: 'two' }), { s: 'in_sync' })
    await me.client.post('/skills/sync', {
      install_id: 'third',
      skills: [{ name: 's', body_markdown: 'three' }],
    })
    t.same(await report({ s: 'edited' }, 'third'), { s: 'local_ahead' })
    t.same(await report({ s: 'edited' }, 'laptop'), { s: 'conflict' })
    const bad = { install_id: 'x', skills: [{ name: 's', content_hash: 'x' }] }
    t.equal((await me.client.post('/skills/installs/report', bad)).status, 422)
  })
})
