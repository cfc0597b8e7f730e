import t from 'tap'
import { roundAverage } from '../../../jobs/rules/core/round.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'

t.test('GET /eval-scores/aggregate', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)
  await service.startWorkers([judgeTracesHandler, aggregateScoresHandler])
  const register = async (name: string) => {
    const components = [{ type: 'tool', name }]
    const { body } = await client.post('/manifests', { agent_name: 'billing', components })
    return body as { manifest_id: string; manifest_hash: string }
  }
  const manifests = [await register('a'), await register('b')] as const

  // Deterministic and uneven: values, sessions, days, agents and manifests all mix.
  const traces = Array.from({ length: 120 }, (_, i) => ({
    id: `t${i}`,
    agent_name: i % 3 === 0 ? 'support' : 'billing',
    manifest_id: i % 3 === 0 ? null : manifests[i % 2 === 0 ? 0 : 1].manifest_id,
    session_id: i % 4 === 0 ? null : `s${i % 17}`,
    started_at: new Date(Date.UTC(2026, 0, 1 + (i % 5), 23, 59)).toISOString(),
    user_input_preview: `question ${i}`,
    final_output_preview: 'answer',
    scores: {
      reward: ((i * 37) % 101) / 100,
      ...(i % 2 === 0 && { helpful: i % 10 < 7 }),
    },
  }))
  await client.post('/traces/batch', traces)
  const aggregate = async (query: string) => {
    const { status, body } = await client.get(`/eval-scores/aggregate?${query}`)
    t.equal(status, 200, query)
    return body
  }
  await until(async () => {
    const body = await aggregate('name=reward')
    return body.groups[0]?.count === 120 && !body.stale
  })

  t.test('agrees with the scores themselves', async (t) => {
    const { groups, computed_at } = await aggregate('name=reward')
    const values = traces.map(({ scores }) => scores.reward).sort((a, b) => a - b)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    const [all] = groups
    t.equal(groups.length, 1)
    t.same(all.key, {})
    t.equal(all.count, 120)
    t.equal(all.mean, roundAverage(mean))
    t.equal(all.stddev, roundAverage(Math.sqrt(squares / 119)))
    t.equal(all.min, values[0])
    t.equal(all.max, values.at(-1))
    t.equal(all.passed, values.filter((value) => value >= 0.7).length)
    t.equal(all.pass_rate, roundAverage(all.passed / 120))
    for (const [name, p] of [
      ['p10', 0.1],
      ['p50', 0.5],
      ['p90', 0.9],
    ] as const) {
      t.ok(Math.abs(all[name] - (values[Math.ceil(p * 120) - 1] as number)) <= 0.05 + 1e-9, name)
    }
    t.ok(all.ci95_low < all.mean && all.mean < all.ci95_high)
    t.ok(computed_at)
  })

  t.test('groups by any of its words', async (t) => {
    const keysOf = async (query: string) =>
      (await aggregate(query)).groups.map(({ key }: { key: object }) => key)
    t.same(await keysOf('name=reward&group_by=manifest'), [
      { manifest_id: null, manifest_hash: null },
      ...manifests
        .map(({ manifest_id, manifest_hash }) => ({
          manifest_id,
          manifest_hash: manifest_hash.slice('sha256:'.length),
        }))
        .sort((a, b) => (a.manifest_id < b.manifest_id ? -1 : 1)),
    ])
    t.same(
      await keysOf('name=reward&group_by=day'),
      [1, 2, 3, 4, 5].map((day) => ({ day: `2026-01-0${day}` })),
    )
    t.same(await keysOf('source=custom&group_by=name,source'), [
      { name: 'helpful', source: 'custom' },
      { name: 'reward', source: 'custom' },
    ])
    t.same(await keysOf('source=custom&group_by=source&group_by=name'), [
      { name: 'helpful', source: 'custom' },
      { name: 'reward', source: 'custom' },
    ])
    const byVerdict = await aggregate('name=reward&group_by=verdict')
    const total = byVerdict.groups.reduce(
      (sum: number, { count }: { count: number }) => sum + count,
      0,
    )
    t.equal(total, 120)
    t.same(
      byVerdict.groups.map(({ key }: { key: { verdict: string } }) => key.verdict),
      ['drop', 'keep'],
    )
    t.equal((await client.get('/eval-scores/aggregate?group_by=agent')).status, 422)
  })

  t.test('each filter selects what it names', async (t) => {
    const countOf = async (query: string) =>
      (await aggregate(`name=reward&${query}`)).groups[0]?.count ?? 0
    t.equal(await countOf('agent_name=support'), 40)
    t.equal(await countOf('agent_name=nobody'), 0)
    t.equal(await countOf(`manifest_id=${manifests[0].manifest_id}`), 40)
    t.equal(await countOf(`manifest_hash=${manifests[1].manifest_hash}`), 40)
    t.equal(await countOf('source=custom'), 120)
    t.equal(await countOf('source=human'), 0)
    t.equal(await countOf('since=2026-01-04T12:00:00Z'), 48)
    t.equal(await countOf('until=2026-01-02T00:00:00Z'), 48)
    t.equal(await countOf('project=default'), 120)
    t.equal(await countOf('verdict=replay'), 0)
    const stranger = service.client((await service.makeOrganization()).key)
    t.same((await stranger.get('/eval-scores/aggregate')).body, {
      groups: [],
      groups_truncated: false,
      computed_at: null,
      stale: false,
    })
    const ofSource = async (source: string) =>
      (await aggregate(`source=${source}&group_by=name`)).groups
    t.same(await ofSource('builtin'), await ofSource('built_in'), 'in the words scores come in')
    t.ok((await ofSource('builtin')).length > 0)
    t.same(await ofSource('gods'), [])
  })

  t.test(
    'counts scores of traces that are not tied yet to the manifest of their hash',
    async (t) => {
      const { manifest_id } = manifests[1]
      await service.sql`update score_cells set manifest_id = '' where manifest_id = ${manifest_id}`
      const { groups } = await aggregate(`name=reward&manifest_id=${manifest_id}`)
      t.equal(groups[0]?.count, 40)
      await service.sql`
      update score_cells set manifest_id = ${manifest_id}
      where manifest_hash = ${manifests[1].manifest_hash.replace('sha256:', '')}`
    },
  )

  t.test('is stale from a push until the cells are summed up again', async (t) => {
    await service.sql.begin(async (tx) => {
      await tx`lock table score_cells in exclusive mode`
      await client.post('/traces/t0/eval-scores', { scores: [{ name: 'reward', score: 1 }] })
      t.equal((await aggregate('name=reward')).stale, true)
    })
    await until(async () => !(await aggregate('name=reward')).stale)
    const after = await aggregate('name=reward')
    t.equal(after.groups[0].count, 120, 'a score that changes is not one more')
    const sum = traces.reduce((s, { scores }) => s + scores.reward, 1)
    t.equal(after.groups[0].mean, roundAverage(sum / 120))
  })

  t.test('loses no score that many pushes bring at once', async () => {
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        client.post(`/traces/t${i}/eval-scores`, { scores: [{ name: 'burst', score: i / 60 }] }),
      ),
    )
    await until(async () => {
      const { groups, stale } = await aggregate('name=burst')
      return groups[0]?.count === 60 && !stale
    })
  })

  t.test('takes scores that are next to nothing', async (t) => {
    await client.post('/traces', {
      id: 'tiny',
      agent_name: 'tiny',
      user_input_preview: 'question',
      final_output_preview: 'answer',
      scores: { tiny: 5e-324 },
    })
    await until(async () => (await aggregate('name=tiny')).groups[0]?.count === 1)
    t.equal((await aggregate('name=tiny')).groups[0].mean, 0)
  })
})
