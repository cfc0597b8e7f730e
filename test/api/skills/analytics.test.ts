import t from 'tap'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { makeSkill } from '../../support/registry.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

t.test('analytics of skills', async (t) => {
  const service = await openService(t)
  const { sql } = service
  let made = 0

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    /** Stores traces that used a skill. @param qualities null for a trace that was not judged */
    async function use(name: string, qualities: readonly (number | null)[], more: Use = {}) {
      const { hash = '', agent = 'agent', daysAgo = 1, projectId = org.projectId } = more
      const startedAt = new Date(Date.now() - daysAgo * 86_400_000)
      const traces = qualities.map((quality) => ({
        trace_id: `t${++made}`,
        agent_name: agent,
        started_at: startedAt.toISOString(),
        messages: [{ role: 'user', content: `task ${made}` }],
        quality,
        ...(quality === null && { verdict: null }),
      }))
      await storeJudged(sql, { orgId: org.orgId, projectId }, traces)
      const ids = traces.map(({ trace_id }) => trace_id)
      await sql`
        update traces set input_tokens = 10, output_tokens = ${more.tokens ?? 5}
        where org_id = ${org.orgId} and trace_id = any(${ids})`
      await sql`
        insert into trace_skills (org_id, project_id, trace_id, skill_name, skill_hash, started_at)
        select ${org.orgId}, ${projectId}, trace_id, ${name}, ${hash}, ${startedAt}
        from unnest(${ids}::text[]) trace_id`
      return ids
    }
    const get = async (path: string, key = org.key) =>
      (await service.client(key).get(`/skills/analytics/${path}`)).body
    return { ...org, client, use, get }
  }

  t.test('tell how each skill does, by name', async (t) => {
    const { use, get } = await setup()
    await use('b', [1, 0.9, 0.5, 0.1, null])
    await use('a', [null], { tokens: 31 })
    t.same(await get('metrics'), {
      skills: [
        {
          name: 'a',
          traces: 1,
          traces_are_capped: false,
          judged: 0,
          pass_rate: null,
          avg_quality: null,
          tokens: 41,
        },
        {
          name: 'b',
          traces: 5,
          traces_are_capped: false,
          judged: 4,
          pass_rate: 0.625,
          avg_quality: 0.625,
          tokens: 15,
        },
      ],
      next_cursor: null,
    })
  })

  t.test('count what was used in the days that are asked for, by an agent', async (t) => {
    const { use, get } = await setup()
    await use('s', [1], { daysAgo: 100 })
    await use('s', [1, 1], { daysAgo: 40, agent: 'other' })
    await use('s', [0], { daysAgo: 2 })
    await use('old', [1], { daysAgo: 100 })
    const traces = async (query: string) =>
      (await get(`metrics?${query}`)).skills.map(
        ({ name, traces }: { name: string; traces: number }) => `${name} ${traces}`,
      )
    t.same(await traces(''), ['s 3'])
    t.same(await traces('days=7'), ['s 1'])
    t.same(await traces('window_days=365'), ['old 1', 's 4'])
    t.same(await traces('days=365&skill=s'), ['s 4'])
    t.same(await traces('days=365&skill_name=old'), ['old 1'])
    t.same(await traces('agent_name=other'), ['s 2'])
    t.same(await traces('agent_name=nobody'), [])
    t.same(await traces('skill=nothing'), [])
    t.equal((await get('metrics?days=0')).code, 'validation_error')
  })

  t.test('are of the projects that the key may read', async (t) => {
    const { use, get, client, orgId, workspaceId } = await setup()
    const { body: project } = await client.post('/projects', {
      name: 'second',
      workspace_id: workspaceId,
    })
    await use('s', [1])
    await use('s', [0, 0], { projectId: project.id })
    await use('second-alone', [1], { projectId: project.id })
    const key = await makeTestKey(sql, orgId, {
      scope: 'project',
      permissions: 'read',
      workspace_id: workspaceId,
      project_id: project.id,
    })
    t.match((await get('metrics')).skills, [{ name: 's', traces: 3 }, { name: 'second-alone' }])
    t.match((await get('metrics?project=default')).skills, [{ name: 's', traces: 1 }])
    t.match((await get('metrics', key.raw)).skills, [{ name: 's', traces: 2 }, { traces: 1 }])
    const other = await service.makeOrganization()
    t.same((await get('metrics', other.key)).skills, [])
    t.same((await get('leaderboard', other.key)).leaderboard, [])
  })

  t.test('are read in pages', async (t) => {
    const { use, get } = await setup()
    for (const name of ['c', 'a', 'd', 'b']) await use(name, [1])
    const names = ({ skills }: { skills: { name: string }[] }) => skills.map(({ name }) => name)
    const first = await get('metrics?limit=3')
    const second = await get(`metrics?limit=3&cursor=${first.next_cursor}`)
    t.same([names(first), names(second)], [['a', 'b', 'c'], ['d']])
    t.equal(second.next_cursor, null)
    t.equal((await get('metrics?cursor=x')).code, 'bad_request')
  })

  t.test('count a trace once that used two versions of a skill', async (t) => {
    const { use, get, orgId, projectId } = await setup()
    const [traceId = ''] = await use('s', [1], { hash: 'a'.repeat(64) })
    await sql`
      insert into trace_skills (org_id, project_id, trace_id, skill_name, skill_hash, started_at)
      values (${orgId}, ${projectId}, ${traceId}, 's', ${'b'.repeat(64)}, now())`
    t.match((await get('metrics')).skills, [{ traces: 1, judged: 1 }])
  })

  t.test('forget a trace that was deleted', async (t) => {
    const { use, get, client } = await setup()
    const [traceId] = await use('s', [1, 1])
    t.equal((await client.delete(`/traces/${traceId}`)).status, 204)
    t.match((await get('metrics')).skills, [{ traces: 1 }])
  })

  t.test('rank skills by what they show at the least', async (t) => {
    const { use, get } = await setup()
    await use('once', [1])
    await use(
      'often',
      Array.from({ length: 20 }, (_, i) => (i === 0 ? 0 : 1)),
    )
    await use(
      'bad',
      Array.from({ length: 20 }, () => 0),
    )
    await use('unjudged', [null])
    const { leaderboard } = await get('leaderboard')
    t.match(leaderboard, [
      { rank: 1, name: 'often', pass_rate: 0.95, score: 0.7639 },
      { rank: 2, name: 'once', pass_rate: 1, score: 0.2065 },
      { rank: 3, name: 'bad', pass_rate: 0, score: 0 },
      { rank: 4, name: 'unjudged', pass_rate: null, score: null },
    ])
    t.equal((await get('leaderboard?limit=2&window_days=30')).leaderboard.length, 2)
    t.same((await get('leaderboard?agent_name=nobody')).leaderboard, [])
  })

  t.test('compare the versions of a skill', async (t) => {
    const { use, get, orgId } = await setup()
    const bodies = ['one', 'two', 'three']
    const skill = await makeSkill(
      sql,
      orgId,
      { name: 's' },
      bodies.map((body) => ({ body })),
    )
    for (const [i, daysAgo] of [60, 30, 10].entries()) {
      await sql`
        update skill_versions set created_at = now() - ${daysAgo} * interval '1 day'
        where org_id = ${orgId} and id = ${skill.versionIds[i] ?? ''}`
    }
    const [one = '', two = ''] = bodies.map((body) => hashBody(body).toString('hex'))
    const passing = (n: number, of: number) => Array.from({ length: of }, (_, i) => Number(i < n))
    await use('s', passing(4, 10), { hash: one, daysAgo: 5, tokens: 90 })
    await use('s', passing(2, 10), { daysAgo: 40, tokens: 90 })
    await use('s', passing(19, 20), { daysAgo: 20, tokens: 40 })
    await use('s', passing(1, 1), { hash: two, daysAgo: 70 })
    await use('other', passing(0, 20), { hash: two })
    const compared = await get('compare?skill=s&from_version=1&to_version=2')
    t.match(compared, {
      skill: 's',
      from: { version_number: 1, content_hash: one, traces: 20, pass_rate: 0.3, tokens: 100 },
      to: { version_id: skill.versionIds[1], traces: 21, judged: 21, pass_rate: 0.9524 },
      delta: { pass_rate: 0.6524, tokens: -51.6667 },
      verdict: 'improved',
    })
    t.ok(compared.p_value < 0.001)
    t.match(await get('compare?skill=s&from_version=2&to_version=1'), { verdict: 'worse' })
    t.match(await get('compare?skill=s&from_version=1&to_version=1'), {
      p_value: 1,
      verdict: 'no_difference',
    })
    t.match(await get(`compare?skill=${skill.id}&from_version=1&to_version=3`), {
      to: { traces: 0, pass_rate: null },
      delta: { pass_rate: null },
      p_value: null,
      verdict: 'too_few',
    })
    const asClients = `skill_name=s&baseline_hash=${one}&candidate_hash=sha256:${two}`
    t.same(await get(`compare?${asClients}`), compared)
    t.equal((await get('compare?skill=s&from_version=1&to_version=4')).code, 'not_found')
    const nobody = 'f'.repeat(64)
    t.equal((await get(`compare?skill=s&from_version=1&to_version=${nobody}`)).code, 'not_found')
    t.equal((await get('compare?skill=x&from_version=1&to_version=2')).code, 'not_found')
    t.equal((await get('compare?skill=s&from_version=1')).code, 'validation_error')
  })

  t.test('read the newest traces of a skill alone', async (t) => {
    const { use, get } = await setup()
    await use('s', [0, 0], { daysAgo: 3 })
    await use(
      's',
      Array.from({ length: 499 }, () => 1),
    )
    t.match((await get('metrics')).skills, [
      { traces: 500, traces_are_capped: true, judged: 500, pass_rate: 0.998 },
    ])
  })
})

interface Use {
  readonly hash?: string
  readonly agent?: string
  readonly daysAgo?: number
  readonly projectId?: string
  readonly tokens?: number
}
