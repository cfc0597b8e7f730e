import { createHash } from 'node:crypto'
import t from 'tap'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

/** Requests with all the members that deployed clients send, null for what they do not know. */
t.test('deployed clients', async (t) => {
  const service = await openService(t)
  await service.startWorkers([scanSkillHandler])

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    await client.post('/skills', { name: 's', description: 'Finds orders', body_markdown: 'one' })
    return { ...org, client }
  }

  /** A public skill of another organization. */
  async function publish(name: string) {
    const { orgId } = await service.makeOrganization()
    const handle = `owner-${name}`
    await nameOrganization(service.sql, orgId, handle)
    const made = await makeSkill(service.sql, orgId, { name }, [{ body: 'theirs' }])
    await publishSkill(service.sql, made)
    return { ...made, handle, slug: `${handle}-${name}` }
  }

  t.test('sync a folder of skills', async (t) => {
    const { client } = await setup()
    const known = {
      name: 'lint',
      description: 'Finds faults',
      category: null,
      body_markdown: '# Lint\n\nRun the linter.\n',
      frontmatter: { name: 'lint', license: 'MIT', 'disable-model-invocation': true },
      content_hash: hash('# Lint\n\nRun the linter.'),
      local_updated_at: '2026-03-01T10:00:00+01:00',
      eval_yaml_text: 'cases: []\n',
      eval_yaml_hash: hash('cases: []\n'),
      files: [],
    }
    const unknown = { name: 'S', body_markdown: 'x', content_hash: null, frontmatter: null }
    const { status, body } = await client.post('/skills/sync', {
      skills: [known, unknown],
      conflict_policy: 'newer_wins',
      response_mode: 'diff',
      author: null,
      install_id: 'laptop',
      install_label: null,
    })
    t.equal(status, 200)
    t.match(body, { status: 'ok', created: 1, updated: 0, unchanged: 0 })
    t.strictSame(body.actions, [
      {
        action: 'created',
        name: 'lint',
        version_number: 1,
        new_version_number: 1,
        body_markdown: null,
        url_slug: null,
        error: null,
      },
      {
        action: 'failed',
        name: 'S',
        version_number: null,
        new_version_number: null,
        body_markdown: null,
        url_slug: null,
        error: body.failures[0].message,
      },
    ])
    t.match((await client.get('/skills/lint')).body, {
      invocation: 'user',
      frontmatter: { license: 'MIT' },
      latest_version: { content_hash: known.content_hash },
    })
    t.strictSame((await client.get('/skills/hashes')).body, {
      lint: { hash: known.content_hash },
      s: { hash: hash('one') },
    })
  })

  t.test('report what an installation holds', async (t) => {
    const { client } = await setup()
    const { body } = await client.post('/skills/installs/report', {
      install_id: 'laptop',
      install_label: 'A laptop',
      skills: [
        { name: 's', content_hash: `sha256:${hash('one')}` },
        { name: 'mine', content_hash: hash('x') },
      ],
    })
    t.match(body.skills, [
      { name: 's', status: 'in_sync' },
      { name: 'mine', status: 'local_only' },
    ])
  })

  t.test('offer skills to an agent and read the one it takes', async (t) => {
    const { client } = await setup()
    const offered = await client.get('/skills/menu?agent_name=a&project_id=default')
    t.match(offered.body.skills, [{ name: 's', description: 'Finds orders' }])
    t.equal((await client.get('/skills/menu?project=none')).status, 404)
    t.equal((await client.get('/skills/menu?project_id=none')).status, 404)
    const routed = await client.post('/skills/route', {
      query: `An order. ${'x'.repeat(5000)}`,
      top_k: 3,
      include_attachments: true,
      agent_name: null,
      category: null,
    })
    t.match(routed.body, {
      strategy: 'full_text',
      routing_id: String,
      prompt_fragment: /s: Finds orders/,
    })
    t.match(routed.body.skills, [{ name: 's', attachments: [] }])
    t.match((await client.get('/skills/s/body?version=1&max_chars=2&agent_name=a')).body, {
      body: 'on',
      skill_id: String,
      name: 's',
      description: 'Finds orders',
      truncated: true,
      version_number: 1,
    })
  })

  t.test(
    'read a skill of others by its bare name only where an agent is assigned it',
    async (t) => {
      const { client } = await setup()
      const theirs = await publish('forms')
      t.equal((await client.get('/skills/forms/body')).status, 404, 'anybody can take a bare name')
      t.equal((await client.get('/skills/FORMS/body')).status, 404)
      for (const name of [theirs.id, theirs.slug, `${theirs.handle}%2Fforms`]) {
        t.match((await client.get(`/skills/${name}/body`)).body, { skill_id: theirs.id }, name)
      }
      await client.post(`/skills/${theirs.slug}/assign`, { agent_name: 'a', version: null })
      const { body } = await client.get('/skills/menu?agent_name=a')
      const [{ name }] = body.skills
      t.equal(name, 'forms')
      t.match((await client.get(`/skills/${name}/body`)).body, {
        body: 'theirs',
        skill_id: theirs.id,
        version_number: 1,
      })
    },
  )

  t.test('apply a suggestion once', async (t) => {
    const { client } = await setup()
    const suggested = { suggested_body: 'two\n', change_summary: null, author: null }
    const { status, body } = await client.post('/skills/s/apply-suggestion', suggested)
    t.equal(status, 201)
    t.match(body, { status: 'ok', skill_name: 's', version_number: 2, content_hash: hash('two') })
    const again = await client.post('/skills/s/apply-suggestion', suggested)
    t.match(again, {
      status: 409,
      body: { detail: { message: String, resource: { type: 'skill', version: 2 } } },
    })
  })

  t.test('fork with the name in the query, in the body, and with neither', async (t) => {
    const { client } = await setup()
    const fork = async (query: string, body?: object) =>
      (await client.call('POST', `/skills/s/fork${query}`, body)).body.skill.name
    t.equal(await fork('?new_name=of-query'), 'of-query')
    t.equal(await fork('', { new_name: 'of-body' }), 'of-body')
    t.equal(await fork('', { new_name: null }), 's-2')
    t.equal(await fork(''), 's-3')
    t.equal(await fork('?new_name=', { new_name: '' }), 's-4')
  })

  t.test('preview what is public of a fork, and take it', async (t) => {
    const { client } = await setup()
    const theirs = await publish('upstream')
    const { body: fork } = await client.post(`/skills/${theirs.slug}/fork`)
    const path = `/skills/${fork.skill.name}`
    await client.put(path, { body_markdown: 'mine' })
    t.strictSame((await client.call('POST', `${path}/merge-upstream?mode=preview`)).body, {
      upstream_body: 'theirs',
      upstream_version_number: 1,
      upstream_change_summary: null,
      current_body: 'mine',
    })
    const taken = await client.call('POST', `${path}/merge-upstream?mode=replace`)
    t.match(taken.body, { status: 'up_to_date', version_number: 2 })
    t.match(
      (await client.post(`${path}/merge-upstream`, { mode: 'preview', strategy: null })).status,
      200,
    )
  })

  t.test('subscribe an agent by the name of then, and end that', async (t) => {
    const { client } = await setup()
    await client.post('/skills/s/subscribe', { agent_name: 'a', version: null, project: null })
    for (const list of ['subscriptions', 'subscribers']) {
      const { body } = await client.get(`/skills/s/${list}`)
      t.match(body.subscriptions, [{ agent_name: 'a', skill_name: 's', version_id: null }])
      t.hasProp(body.subscriptions[0], 'subscribed_by_user_id')
    }
    const ended = await client.delete('/skills/s/subscribe', { agent_name: 'a' })
    t.equal(ended.status, 200)
    t.match(ended.headers, {
      deprecation: /^@\d+$/,
      link: '</api/v1/skills/s/assign>; rel="successor-version"',
    })
  })

  t.test('run the checks', async (t) => {
    const { client } = await setup()
    const { status, body } = await client.call('POST', '/skills/s/checks/run?deep=true')
    t.equal(status, 200)
    t.match(body, {
      skill_safety: 'passed',
      safety_status: 'passed',
      intent_status: 'not_reviewed',
      content_status: 'passed',
      findings: [],
      intent_review: { summary: String },
    })
  })

  t.test('attach files one by one and together, and read them back by path', async (t) => {
    const { client } = await setup()
    const { body: skill } = await client.get('/skills/s')
    const file = {
      file_path: 'run.sh',
      directory: 'scripts',
      content_text: 'echo\n',
      content_type: 'text/x-shellscript',
      skill_version_id: skill.latest_version.id,
    }
    const one = await client.post(`/skills/${skill.id}/attachments`, file)
    t.match(one, { status: 201, body: { id: String, file_path: 'scripts/run.sh' } })
    const untold = { file_path: 'a.md', directory: null, content_text: '', content_type: null }
    const bulk = await client.post(`/skills/${skill.id}/attachments/bulk`, {
      files: [untold, file],
    })
    t.equal(bulk.status, 201)
    const { body } = await client.get(`/skills/${skill.id}/attachments`)
    t.match(body.attachments, [{ file_path: 'a.md' }, { file_path: 'scripts/run.sh' }])
    const byPath = `/skills/${skill.id}/attachments/by-path/scripts/run.sh`
    t.match((await client.get(byPath)).body, {
      content_text: 'echo\n',
      content_type: 'text/x-shellscript',
    })
    t.equal((await client.delete(byPath)).status, 200)
    t.equal((await client.get(byPath)).status, 404)
  })

  t.test('resolve with and without a key', async (t) => {
    const { client } = await setup()
    const theirs = await publish('resolved')
    const body = {
      items: [
        { ref: theirs.slug, version: 'latest' },
        { skill_id: theirs.id, version_id: null },
      ],
      taken: { resolved: null },
      formats: [1, 2],
      channel: 'cli',
      purpose: null,
    }
    for (const path of ['/registry/install/resolve', '/registry/public/install/resolve']) {
      const answer = await client.post(path, body)
      t.match(answer, { status: 200, body: { items: [{ ok: true }, { ok: true }] } }, path)
      t.equal(answer.body.items[0].install_name, `${theirs.handle}-resolved`)
    }
    t.match(await client.post('/registry/install/resolve', { ...body, formats: [9] }), {
      status: 422,
      body: { detail: String, code: 'format_unsupported', request_id: String },
    })
  })
})

function hash(text: string) {
  return createHash('sha256').update(text).digest('hex')
}
