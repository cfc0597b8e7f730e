import t from 'tap'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

t.test('a public skill', async (t) => {
  const service = await openService(t)
  const { sql, server } = service
  const owner = await service.makeOrganization()
  await nameOrganization(sql, owner.orgId, 'acme')
  const reader = await service.makeOrganization()
  const skill = await makeSkill(
    sql,
    owner.orgId,
    { name: 'forms', description: 'Fills in', frontmatter: { license: 'MIT' } },
    [
      { body: 'One', files: { 'a.txt': 'Ä', 'b.txt': 'B' } },
      { body: 'Two', band: 'caution', files: { 'c.bin': 'C' } },
    ],
  )
  await publishSkill(sql, skill)
  const benchmark = {
    verdict: 'mixed',
    passed_cases: 9,
    total_cases: 10,
    pass_rate_delta_pts: 20,
    never_hurt: true,
    tokens_delta_pct: -5,
    turns_delta_pct: null,
  }
  await sql`update registry_files set content = '\\xff' where path = 'c.bin'`
  await sql`update registry_versions set reason_codes = '{short_link}' where version_number = 2`
  await sql`
    update registry_skills set tier = 1, score = 0.5, live = 0.5, tags = '{a,b}', category = 'code',
      benchmark = ${JSON.stringify(benchmark)}::text::jsonb, author_display_name = 'A. Author'`

  async function read(path: string, key?: string) {
    const { statusCode, payload } = await server.inject({
      url: `/api/v1/registry/skills/${path}`,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    })
    return { status: statusCode, body: JSON.parse(payload) as Record<string, unknown> }
  }

  t.test('is shown by its id, its slug and its name', async (t) => {
    const { status, body } = await read(skill.id)
    t.equal(status, 200)
    t.match(body, {
      id: skill.id,
      skill_id: skill.id,
      url_slug: 'acme-forms',
      registry_name: 'acme/forms',
      description: 'Fills in',
      category: 'code',
      tags: ['a', 'b'],
      author_display_name: 'A. Author',
      skill_safety: 'caution',
      skill_badge: 'provisional',
      effectiveness: {
        skill_score: 0.5,
        tier: 1,
        score_components: { bench: null, live: 0.5, rating: null, provisional: true },
      },
      benchmark_summary: benchmark,
      installed_as: null,
      latest_version_number: 2,
      body_markdown: 'Two',
      content_hash: hashBody('Two').toString('hex'),
      frontmatter: { license: 'MIT' },
      attachment_count: 1,
      safety_status: 'caution',
      safety: { summary: String, reason_codes: ['short_link'] },
      versions: [
        { version_id: skill.versionIds[1], version_number: 2 },
        { version_id: skill.versionIds[0], version_number: 1 },
      ],
      verification_history: [
        { version_number: 2, safety_status: 'caution', reason_codes: ['short_link'] },
        { version_number: 1, safety_status: 'passed', reason_codes: [] },
      ],
    })
    for (const reference of [skill.id.toUpperCase(), 'acme-forms', 'acme%2Fforms']) {
      t.same((await read(reference)).body, body)
    }
    for (const reference of ['forms', 'acme', '%00', 'x'.repeat(500)]) {
      t.equal((await read(reference)).status, 404, reference)
    }
  })

  t.test('is listed with what is shown of it', async (t) => {
    const { body } = await read('?q=forms')
    const [item] = body['items'] as Record<string, unknown>[]
    const { metric, ...shared } = item ?? {}
    t.same(metric, { name: 'score', value: 0.5, label: '0.50' })
    t.match((await read('acme-forms')).body, shared)
  })

  t.test('tells whoever has a key what it is installed as', async (t) => {
    const fork = await makeSkill(sql, reader.orgId, { name: 'forms-2', forkOf: skill })
    await sql`
      insert into registry_installs (skill_id, org_id, fork_skill_id)
      values (${skill.id}, ${reader.orgId}, ${fork.id})`
    t.match((await read('acme-forms', reader.key)).body, { installed_as: 'forms-2' })
    t.match((await read('?q=forms', reader.key)).body, { items: [{ installed_as: 'forms-2' }] })
    for (const key of [undefined, owner.key, 'svc_sk_unknown']) {
      t.match((await read('acme-forms', key)).body, { installed_as: null })
      t.match((await read('?q=forms', key)).body, { items: [{ installed_as: null }] })
    }
    await sql`update skills set deleted_at = now() where id = ${fork.id}`
    t.match((await read('acme-forms', reader.key)).body, { installed_as: null })
  })

  t.test('has files, each version its own', async (t) => {
    const { body } = await read('acme-forms/attachments?version=1')
    t.match(body, {
      version_id: skill.versionIds[0],
      version_number: 1,
      attachments: [
        { path: 'a.txt', file_path: 'a.txt', mode: '0644', content_text: 'Ä' },
        { path: 'b.txt', content_text: 'B' },
      ],
    })
    const [first] = body['attachments'] as { id: string; sha256: string }[]
    t.equal(first?.sha256, hashBody('Ä').toString('hex'))
    const one = await read(`acme-forms/attachments/${first?.id}?version=1`)
    t.match(one.body, { file_path: 'a.txt', content_text: 'Ä', content_base64: null })
    t.equal((await read(`acme-forms/attachments/${first?.id}`)).status, 404, 'not of the newest')
    const newest = await read('acme-forms/attachments')
    t.match(newest.body, { version_number: 2, attachments: [{ content_text: null }] })
    const [binary] = newest.body['attachments'] as { id: string }[]
    t.match((await read(`acme-forms/attachments/${binary?.id}`)).body, {
      content_text: null,
      content_base64: '/w==',
    })
    t.equal((await read('acme-forms/attachments?version=3')).status, 404)
  })

  t.test('has files that are listed without their content after a mebibyte', async (t) => {
    const large = 'x'.repeat(600_000)
    const heavy = await makeSkill(sql, owner.orgId, { name: 'heavy' }, [
      { body: 'One', files: { 'a.txt': large, 'b.txt': large, 'c.txt': 'C' } },
    ])
    await publishSkill(sql, heavy)
    const { body } = await read('acme-heavy/attachments')
    const attachments = body['attachments'] as { id: string; content_text: string | null }[]
    t.same(
      attachments.map(({ content_text: text }) => text?.length ?? null),
      [600_000, null, null],
    )
    const last = await read(`acme-heavy/attachments/${attachments[2]?.id}`)
    t.equal(last.body['content_text'], 'C')
  })

  t.test('says how it is to be evaluated, where its author does', async (t) => {
    t.equal((await read('acme-forms/eval')).status, 404)
    const eval_yaml_text = 'cases:\n  - a\n  - b\n'
    await sql`update registry_versions set eval_yaml = ${eval_yaml_text} where version_number = 1`
    t.equal((await read('acme-forms/eval')).status, 404)
    const { body } = await read('acme-forms/eval?version=1')
    t.match(body, { eval_yaml_text, case_count: 2, version_number: 1 })
  })

  t.test('is found while it is published, by what is public of it', async (t) => {
    const { post } = service.client(owner.key)
    const { body: made } = await post('/skills', {
      name: 'sheets',
      display_name: 'Table reader',
      description: 'Reads spreadsheets',
      trigger_phrases: ['confidential'],
      body_markdown: 'Read the sheet.',
    })
    await sql`
      insert into skill_scans (org_id, version_id, revision, scanner_version, band, reason_codes,
        findings, finding_count)
      values (${owner.orgId}, ${made.latest_version.id}, 0, 1, 'passed', '{}', '[]', 0)`
    const listing = { category: 'data', tags: ['etl'] }
    t.equal((await post('/skills/sheets/publish', listing)).status, 201)
    const found = async (query: string) => {
      const { body } = await read(`?${query}`)
      return (body['items'] as { name: string }[]).map(({ name }) => name)
    }
    for (const query of [
      'q=spreadsheet',
      'q=table reader',
      'q=sheets',
      'tags=etl',
      'category=data',
    ]) {
      t.same(await found(query), ['sheets'], query)
    }
    t.same(await found('q=confidential'), [])
    t.equal((await post('/skills/sheets/unpublish', {})).status, 200)
    t.same(await found('q=spreadsheet'), [])
    t.equal((await read('acme-sheets')).status, 404)
  })
})
