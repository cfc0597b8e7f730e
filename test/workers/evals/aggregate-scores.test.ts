import t from 'tap'
import { summarize } from '../../../jobs/rules/evals/score-summary.ts'
import { sumCell } from '../../../ops/bench/interval-coverage.ts'
import { markCellsDirty, recomputeCells } from '../../../sql/evals/score-cells.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'

t.test('aggregates', async (t) => {
  const service = await openService(t)

  t.test('unite a session over days, verdicts and manifests before it is squared', async (t) => {
    const { aggregate } = await openAggregates(service, traces(sessionOf))
    const [all] = await aggregate('name=reward')
    t.same(pick(all), expected(traces(sessionOf)))
    for (const group of await aggregate('name=reward&group_by=verdict')) {
      const own = traces(sessionOf).filter(({ verdict }) => verdict === group.key['verdict'])
      t.same(pick(group), expected(own), String(group.key['verdict']))
    }
    for (const group of await aggregate('name=reward&group_by=day')) {
      const own = traces(sessionOf).filter(({ started_at }) =>
        started_at.startsWith(String(group.key['day'])),
      )
      t.same(pick(group), expected(own), String(group.key['day']))
    }
  })

  t.test('take a task before a session, unless all are of one', async (t) => {
    const tasks = traces((i) => ({
      cluster: i % 5 === 0 ? `session ${i % 4}` : `task ${i % 3}`,
      task_id: i % 5 === 0 ? null : `task ${i % 3}`,
      session_id: `session ${i % 4}`,
    }))
    const { aggregate } = await openAggregates(service, tasks)
    t.same(pick((await aggregate('name=reward'))[0]), expected(tasks))
    const single = traces((i) => ({
      cluster: i % 2 ? `trace ${i}` : `session ${i % 10}`,
      task_id: 'the only one',
      session_id: i % 2 ? null : `session ${i % 10}`,
    }))
    const one = await openAggregates(service, single)
    t.same(pick((await one.aggregate('name=reward'))[0]), expected(single))
  })

  t.test('take what several sources scored of a trace for one cluster', async (t) => {
    const alone = traces((i) => ({ cluster: `trace ${i}` }))
    const { aggregate, push } = await openAggregates(service, alone)
    const scores = alone.map(({ trace_id, quality }) => ({
      trace_id,
      name: 'reward',
      score: quality,
    }))
    await push('human', scores.slice(0, 10))
    const [all] = await aggregate('name=reward')
    t.same(pick(all), expected([...alone, ...alone.slice(0, 10)]))
    t.equal(all?.count, 50)
  })

  t.test('have no interval below three clusters, and where names mix', async (t) => {
    const few = traces((i) => ({ cluster: `s${i % 2}`, session_id: `s${i % 2}` }))
    const { aggregate } = await openAggregates(service, few)
    t.match(await aggregate('name=reward'), [{ count: 40, ci95_low: null, ci95_high: null }])
    const lone = traces((i) => ({ cluster: `t${i}` }))
    const many = await openAggregates(service, lone)
    t.type((await many.aggregate(''))[0]?.ci95_low, 'number')
    await many.push('custom', [{ trace_id: 't0', name: 'other', score: 1 }])
    t.match(await many.aggregate(''), [{ count: 41, ci95_low: null, ci95_high: null }])
    t.match(await many.aggregate('group_by=name'), [
      { key: { name: 'other' }, ci95_low: null },
      { key: { name: 'reward' }, ci95_low: Number },
    ])
  })

  t.test('add up all pages of a day, and come out the same again', async (t) => {
    const many = traces((i) => ({ cluster: `s${i % 400}`, session_id: `s${i % 400}` }), 1203).map(
      (trace, i) => ({
        ...trace,
        // Many at one time: the page goes on behind a trace, not behind a time.
        started_at: `2026-01-01T00:00:0${i % 7}.123Z`,
      }),
    )
    const { aggregate, recompute, cells } = await openAggregates(service, many)
    const [all] = await aggregate('name=reward')
    t.equal(all?.count, 1203)
    t.same(pick(all), expected(many))
    const before = await cells()
    t.equal(before.length, 3)
    await recompute()
    t.same(await cells(), before)
  })
})

/** Stores traces of a project of its own and sums up their scores. */
async function openAggregates(service: Service, judged: readonly JudgedTrace[]) {
  const { sql } = service
  const org = await service.makeOrganization()
  const { orgId, projectId } = org
  const client = service.client(org.key)
  const ids = judged.map(({ trace_id }) => trace_id)
  await storeJudged(sql, org, judged)
  async function recompute() {
    await sql.begin(async (tx) => {
      await markCellsDirty(tx, orgId, projectId, ids)
      await recomputeCells(tx, orgId, projectId, 100)
    })
  }
  await recompute()
  return {
    recompute,
    async aggregate(query: string): Promise<Group[]> {
      const { body } = await client.get(`/eval-scores/aggregate?${query}`)
      return body.groups
    },
    async push(source: string, scores: readonly object[]) {
      await client.post('/eval-scores', { source, scores })
      await recompute()
    },
    cells: () => sql`
      select agent_name, manifest_id, day, name, source, verdict, c.n, passed, c.sum, sum_squares, min,
        max, histogram, lone_clusters, lone_ss, lone_sn, lone_nn,
        (select jsonb_agg(to_jsonb(s) - 'cell_id' order by task, unit) from score_cell_clusters s
          where s.org_id = c.org_id and s.cell_id = c.id) as clusters
      from score_cells c where org_id = ${orgId} order by name, source, verdict, day`,
  }
}

/** Uneven values that mix over days, agents and verdicts. */
function traces(placeOf: (i: number) => Place, count = 40) {
  return Array.from({ length: count }, (_, i) => ({
    trace_id: `t${i}`,
    agent_name: i % 3 === 0 ? 'support' : 'billing',
    started_at: `2026-01-0${1 + (i % 5)}T10:00:00Z`,
    quality: ((i * 37) % 101) / 100,
    verdict: (['keep', 'drop', 'replay'] as const)[i % 3] ?? 'keep',
    session_id: null,
    task_id: null,
    ...placeOf(i),
  }))
}

function sessionOf(i: number): Place {
  if (i % 4 === 0) return { cluster: `trace ${i}` }
  return { cluster: `session ${i % 7}`, session_id: `session ${i % 7}` }
}

/** The interval as it comes out of the scores themselves. */
function expected(scored: readonly { quality: number; cluster: string }[]) {
  const { mean, ci95_low, ci95_high } = summarize(
    sumCell(scored.map(({ quality: value, cluster }) => ({ value, cluster }))),
  )
  return { mean, ci95_low, ci95_high }
}

function pick(group: Group | undefined) {
  return { mean: group?.mean, ci95_low: group?.ci95_low, ci95_high: group?.ci95_high }
}

interface Place {
  readonly cluster: string
  readonly session_id?: string | null
  readonly task_id?: string | null
}

interface Group {
  readonly key: Readonly<Record<string, unknown>>
  readonly count: number
  readonly mean: number
  readonly ci95_low: number | null
  readonly ci95_high: number | null
}
