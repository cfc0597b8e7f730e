import t from 'tap'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const service = await openService(t)
const { sql } = service
await service.startWorkers([
  aggregateScoresHandler,
  judgeTracesHandler,
  checkRegressionHandler,
  scanSkillHandler,
])

const AGENT = 'demo-support-agent'
const SKILLS = ['demo-order-lookup', 'demo-refund-policy', 'demo-short-answers']

t.test('the demo agent has a second version whose check finds what it breaks', async (t) => {
  const { client, judged } = await setup()
  const seeded = await client.post('/demo/seed-impact')
  t.equal(seeded.status, 201)
  t.match(seeded.body, { status: 'created', agent_name: AGENT, traces: 24, fixture: true })
  const { v1_manifest_id: v1, v2_manifest_id: v2 } = seeded.body
  const { body: first } = await client.get(`/manifests/${v1}`)
  const { body: second } = await client.get(`/manifests/${v2}`)
  t.match(first, { status: 'active', metadata: { fixture: true } })
  t.match(second, { status: 'draft', parent_manifest_id: v1, metadata: { fixture: true } })
  await judged(24)
  const { body: check } = await client.post('/regression-check', {
    agent_name: AGENT,
    candidate_manifest_id: v2,
  })
  t.match(check, { verdict: 'high_risk', baseline_manifest_id: v1, total_traces_analyzed: 24 })
  t.equal(check.high_risk_count, 15, 'those in which an order was refunded')
  t.match(check.impacts, [{ surface_name: 'refund_order', affected_trace_count: 15 }])
  t.equal(check.impacts.length, 1)
  const { body: traces } = await client.get(`/traces?agent_name=${AGENT}`)
  t.ok(traces.traces.every(({ metadata }: Marked) => metadata.fixture === true))
  t.equal(traces.total, 24)
  t.same((await client.get('/agents')).body.agents, [], 'a list leaves it out')
  t.match((await client.get('/agents?include_fixtures=true')).body.agents, [{ is_fixture: true }])
})

t.test('the demo skills are told to be fixtures, and were used by traces', async (t) => {
  const { client, judged } = await setup()
  const { status, body } = await client.post('/demo/seed-skills')
  t.equal(status, 201)
  t.match(body, { status: 'created', skill_names: SKILLS, traces: 36, fixture: true })
  const { body: skills } = await client.get('/skills')
  t.same(skills.skills.map(({ name }: { name: string }) => name).toSorted(order), SKILLS)
  t.ok(skills.skills.every(({ fixture }: { fixture: boolean }) => fixture))
  t.match((await client.get(`/skills/${SKILLS[0]}`)).body, { id: body.top_skill_id })
  await judged(36)
  const { body: traces } = await client.get('/traces?agent_name=demo-skills-agent&limit=500')
  const { content_hash: hash } = (await client.get(`/skills/${SKILLS[1]}`)).body.latest_version
  t.equal(
    traces.traces.filter(({ active_skills: [skill] }: Using) => skill?.hash === hash).length,
    12,
  )
  const { body: ranked } = await client.get('/skills/analytics/leaderboard')
  t.match(
    ranked.leaderboard,
    SKILLS.map((name) => ({ name, traces: 12, judged: 12 })),
    'in the order of the demo',
  )
})

t.test('seeding again changes nothing, unless it is forced', async (t) => {
  const { client } = await setup()
  const impact = (await client.post('/demo/seed-impact')).body
  const again = await client.post('/demo/seed-impact')
  t.equal(again.status, 200)
  t.match(again.body, {
    status: 'already_exists',
    v1_manifest_id: impact.v1_manifest_id,
    v2_manifest_id: impact.v2_manifest_id,
  })
  await client.post('/regression-check', {
    agent_name: AGENT,
    candidate_manifest_id: impact.v2_manifest_id,
  })
  const forced = await client.post('/demo/seed-impact?force=true')
  t.equal(forced.status, 201)
  t.not(forced.body.v1_manifest_id, impact.v1_manifest_id)
  t.equal((await client.get(`/manifests?agent_name=${AGENT}`)).body.total, 2)
  t.equal((await client.get(`/traces?agent_name=${AGENT}`)).body.total, 24)
  t.equal((await client.get('/regression-check')).body.total, 0)

  const skills = (await client.post('/demo/seed-skills')).body
  t.match(await client.post('/demo/seed-skills'), {
    status: 200,
    body: { status: 'already_exists', top_skill_id: skills.top_skill_id },
  })
  const renewed = await client.post('/demo/seed-skills?force=true')
  t.equal(renewed.status, 201)
  t.not(renewed.body.top_skill_id, skills.top_skill_id)
  await client.delete(`/skills/${SKILLS[2]}`)
  t.equal((await client.post('/demo/seed-skills')).status, 201, 'what is missing is made again')
  t.equal((await client.get('/skills')).body.total, 3)
  t.equal((await client.get('/traces?agent_name=demo-skills-agent')).body.total, 36)
})

t.test('cleaning up takes out all of the demo, and nothing else', async (t) => {
  const { client, orgId, judged } = await setup()
  await client.post('/traces', { agent_name: 'mine', trace_id: 'mine' })
  await client.post('/skills', { name: 'mine', body_markdown: 'Mine' })
  await client.post('/manifests', {
    agent_name: 'mine',
    components: [{ component_type: 'model', component_name: 'large' }],
  })
  await judged(1)
  const before = await countRows(orgId)
  const { body: impact } = await client.post('/demo/seed-impact')
  const { body: skills } = await client.post('/demo/seed-skills')
  await client.post('/skills/demo-order-lookup/assign', { agent_name: 'mine' })
  await judged(61)
  const { body: check } = await client.post('/regression-check', {
    agent_name: AGENT,
    candidate_manifest_id: impact.v2_manifest_id,
  })
  t.equal(check.verdict, 'high_risk')
  t.match(await client.delete('/demo/cleanup'), {
    status: 200,
    body: {
      status: 'cleaned',
      manifests: 2,
      traces: 24,
      skills: { skills: 3, traces: 36 },
      fixture: true,
    },
  })
  t.same(await countRows(orgId), before)
  t.equal((await client.get(`/skills/${skills.top_skill_id}`)).status, 404)
  t.match(await client.delete('/demo/cleanup'), {
    status: 200,
    body: { manifests: 0, traces: 0, skills: { skills: 0, traces: 0 } },
  })
  t.same(await countRows(orgId), before)
})

t.test('what is the organization its own is never touched', async (t) => {
  const { client, orgId, judged } = await setup()
  await client.post('/traces', { agent_name: AGENT, trace_id: 'mine' })
  await client.post('/skills', { name: SKILLS[1], body_markdown: 'Mine' })
  await judged(1)
  const before = await countRows(orgId)
  for (const query of ['', '?force=true']) {
    const impact = await client.post(`/demo/seed-impact${query}`)
    t.equal(impact.status, 409)
    t.match(impact.body.detail.resource, { type: 'agent', name: AGENT })
    const skills = await client.post(`/demo/seed-skills${query}`)
    t.equal(skills.status, 409)
    t.match(skills.body.detail.resource, { type: 'skill', name: SKILLS[1] })
  }
  t.match(await client.delete('/demo/cleanup'), {
    status: 200,
    body: { manifests: 0, traces: 0, skills: { skills: 0, traces: 0 } },
  })
  t.same(await countRows(orgId), before)
})

t.test('a demo skill that somebody changed or published is taken out by nobody else', async (t) => {
  const changes = {
    'another body': ['put', '', { body_markdown: 'Mine' }],
    'another description': ['put', '', { description: 'Mine' }],
    'a file': ['post', '/attachments', { path: 'mine.txt', content: 'Mine' }],
    publishing: ['post', '/publish', {}],
  } as const
  for (const [change, [method, path, body]] of Object.entries(changes)) {
    const { client } = await setup()
    const seeded = (await client.post('/demo/seed-skills')).body
    const kept = `/skills/${seeded.top_skill_id}`
    const { status } = await client[method](`${kept}${path}`, body)
    t.ok(status === 200 || status === 201, `${change}: ${status}`)
    t.match((await client.get(kept)).body, { fixture: false }, change)
    for (const query of ['', '?force=true']) {
      const refused = await client.post(`/demo/seed-skills${query}`)
      t.equal(refused.status, 409, change)
      t.match(refused.body.detail.resource, { id: seeded.top_skill_id })
    }
    t.match((await client.delete('/demo/cleanup')).body, { skills: { skills: 2, traces: 36 } })
    t.equal((await client.get(kept)).status, 200, change)
  }
})

t.test('an agent of both stays until somebody decides', async (t) => {
  const { client, orgId, judged } = await setup()
  await client.post('/demo/seed-impact')
  await client.post('/traces', { agent_name: AGENT, trace_id: 'mine' })
  await judged(25)
  const before = await countRows(orgId)
  for (const { status, body } of [
    await client.post('/demo/seed-impact?force=true'),
    await client.delete('/demo/cleanup'),
  ]) {
    t.equal(status, 409)
    t.match(body.detail.resource, { type: 'agent', name: AGENT })
  }
  t.same(await countRows(orgId), before)
  await client.delete('/traces/mine')
  t.match(await client.delete('/demo/cleanup'), { status: 200, body: { traces: 24 } })
})

t.test('a trace of the same id is a conflict, and nothing is stored', async (t) => {
  const { client, orgId, judged } = await setup()
  await client.post('/traces', { agent_name: 'mine', trace_id: 'demo-impact-07' })
  await judged(1)
  const before = await countRows(orgId)
  t.match(await client.post('/demo/seed-impact'), {
    status: 409,
    body: { detail: { resource: { type: 'trace', id: 'demo-impact-07' } } },
  })
  t.same(await countRows(orgId), before)
})

t.test('seeding counts against no quota and sends no event', async (t) => {
  const { client, orgId } = await setup()
  await client.post('/demo/seed-impact')
  await client.post('/demo/seed-skills')
  const used = await sql`select from usage where org_id = ${orgId} and metric = 'traces_ingested'`
  t.equal(used.length, 0)
  t.same((await client.get('/changelog')).body.events, [])
})

t.test('two who seed at once make one demo', async (t) => {
  const { client } = await setup()
  const answers = await Promise.all(
    ['impact', 'skills', 'impact', 'skills'].map((what) => client.post(`/demo/seed-${what}`)),
  )
  t.same(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 200, 201, 201],
  )
  t.equal((await client.get(`/traces?agent_name=${AGENT}`)).body.total, 24)
  t.equal((await client.get('/skills')).body.total, 3)
})

async function setup() {
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  /** Waits until so many traces have a verdict. */
  const judged = async (count: number) =>
    until(async () => {
      const [row] = await sql`
        select count(*)::int as n from verdicts where org_id = ${org.orgId}`
      return row?.['n'] === count
    })
  return { ...org, client, judged }
}

/** Rows of an organization by table, but for those that tell what was done, and of skills deleted. */
async function countRows(orgId: string) {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns c
    where table_schema = 'public' and column_name = 'org_id'
      and not exists (select from pg_class p where p.relname = c.table_name and p.relispartition)
      and table_name !~ ${OF_DEEDS}
    order by 1`
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await sql`
      select count(*)::int as n from ${sql(name)} where org_id = ${orgId}
        ${name === 'skills' ? sql`and deleted_at is null` : sql``}`
    counts[name] = row?.['n'] as number
  }
  return counts
}

const OF_DEEDS =
  '^(all_.*|jobs.*|job_.*|usage.*|audit.*|idempotency.*|regression_requests|.*_changes|.*_counts|score_cells.*|skill_versions|skill_scans|skill_scores_due|api_keys|trace_search_.*)$'
const order = (a: string, b: string) => (a < b ? -1 : 1)

interface Marked {
  readonly metadata: { readonly fixture?: boolean }
}
interface Using {
  readonly active_skills: readonly { readonly hash?: string }[]
}
