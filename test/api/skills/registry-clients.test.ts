import t from 'tap'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { openService } from '../../support/service.ts'

/** What deployed clients send to the registry, in the order in which a skill goes through it. */
t.test('deployed clients of the registry', async (t) => {
  const service = await openService(t)
  await service.startWorkers([scanSkillHandler])
  const owner = service.client((await service.makeOrganization()).key)
  const user = service.client((await service.makeOrganization()).key)
  const anonymous = async (path: string) => {
    const { statusCode, payload } = await service.server.inject(`/api/v1${path}`)
    return { status: statusCode, body: JSON.parse(payload) as Record<string, unknown> }
  }
  await owner.post('/skills/sync', {
    skills: [
      {
        name: 'orders',
        description: 'Finds orders by their number',
        body_markdown: 'Ask for the number.',
        eval_yaml_text: 'cases:\n  - name: late\n',
      },
    ],
  })
  await owner.post('/skills/orders/attachments', { file_path: 'a.md', content_text: 'A' })
  const query = 'category=support&tags=orders,parcels&author_display_name=Shop'
  const published = await owner.call('POST', `/skills/orders/publish?${query}`)
  const { skill_id: id, url_slug: slug } = published.body

  await t.test('publish with all in the query', async (t) => {
    t.match(published, {
      status: 201,
      body: { status: 'ok', skill_id: String, category: 'support', skill_badge: 'new' },
    })
  })

  await t.test('search with fields that were left empty', async (t) => {
    const { status, body } = await anonymous('/registry/skills?q=&category=&tags=&badge=&limit=5')
    t.equal(status, 200)
    t.match(body, { items: [{ id, url_slug: slug }], total: 1, total_hint: 1, next_cursor: null })
    const sorts =
      'recommended effectiveness popular rating biggest_improvement efficiency recent top_rated installs skill_score'
    for (const sort of sorts.split(' ')) {
      const found = await anonymous(`/registry/skills?q=order&category=support&sort=${sort}`)
      t.match(found, { status: 200, body: { items: [{ metric: { label: String } }] } }, sort)
    }
    t.equal((await anonymous('/registry/skills?view=ranks&badge=new')).status, 200)
  })

  await t.test('read all of a skill by its slug', async (t) => {
    t.match((await anonymous(`/registry/skills/${slug}`)).body, {
      body_markdown: 'Ask for the number.',
      skill_safety: 'passed',
      safety_status: 'passed',
      safety: { summary: String },
      intent_status: 'not_reviewed',
      content_status: 'passed',
      verification_history: Array,
      avg_rating: null,
      rating_count: 0,
      latest_version_number: 1,
      attachment_count: 1,
      author_display_name: 'Shop',
      source_type: String,
      source_url: null,
      benchmark_summary: null,
      skill_badge: 'new',
      install_count: 0,
      effectiveness: {
        skill_score: null,
        tier: 0,
        avg_pass_rate: null,
        score_components: { provisional: false },
      },
    })
    const { body } = await anonymous(`/registry/skills/${id}/attachments`)
    t.match(body, { attachments: [{ id: String, file_path: 'a.md', content_text: 'A' }] })
    const [{ id: aid }] = body['attachments'] as [{ id: string }]
    t.match(await anonymous(`/registry/skills/${id}/attachments/${aid}`), {
      body: { content_text: 'A' },
    })
    t.match((await anonymous(`/registry/skills/${id}/eval`)).body, {
      eval_yaml_text: 'cases:\n  - name: late\n',
      case_count: 1,
    })
    const board = '/registry/leaderboard?sort=efficiency&window_days=30&limit=10'
    t.strictSame((await anonymous(board)).body, { items: [] })
  })

  await t.test('use a skill, in whatever mode they call it, and fork it once', async (t) => {
    const use = (more: string) => user.call('POST', `/registry/skills/${id}/use?${more}`)
    const first = await use('scope=project&mode=auto&version=latest&agents=a,b')
    t.match(first, { status: 201, body: { status: 'ok', skill: { name: 'orders' } } })
    t.match(first.body.subscriptions, [
      { agent_name: 'a', version_id: null },
      { agent_name: 'b', version_id: null },
    ])
    const pinned = await use('scope=project&mode=pinned&agents=a')
    t.match(pinned, { status: 200, body: { subscriptions: [{ version_id: String }] } })
    for (const path of [`/registry/skills/${id}/fork`, '/registry/install']) {
      t.match(await user.post(path, { skill_id: id }), {
        status: 409,
        headers: { 'x-installed-as': 'orders' },
        body: { detail: { message: String, resource: { name: 'orders' } } },
      })
    }
    const { body } = await user.get('/registry/skills?q=orders')
    t.match(body.items, [{ installed_as: 'orders', install_count: 1 }])
  })

  await t.test('import a benchmark and run none', async (t) => {
    const cases = [{ case_name: 'late', outcome: 'flip_to_pass' }, { outcome: 'unknown' }]
    t.match((await owner.post('/skills/orders/benchmark/import', { cases })).body, {
      imported_cases: 1,
      total_cases: 2,
      overall_verdict: String,
      skipped_cases: ['#2'],
    })
    t.equal((await owner.post('/skills/orders/benchmark/run')).status, 501)
  })

  await t.test('read how skills do', async (t) => {
    t.match((await owner.get('/skills/analytics/metrics')).body, { skills: Array })
    t.match((await owner.get('/skills/analytics/leaderboard')).body, { leaderboard: Array })
    const compared = 'skill=orders&from_version=1&to_version=1'
    t.equal((await owner.get(`/skills/analytics/compare?${compared}`)).status, 200)
  })

  await t.test('unpublish', async (t) => {
    t.match((await owner.call('POST', '/skills/orders/unpublish')).body, {
      status: 'ok',
      forks_cleared: Number,
    })
    t.equal((await anonymous(`/registry/skills/${slug}`)).status, 404)
  })
})
