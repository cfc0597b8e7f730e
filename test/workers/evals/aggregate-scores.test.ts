import t from 'tap'
import { summarize } from '../../../jobs/rules/evals/score-summary.ts'
import { sumCell } from '../../../ops/bench/interval-coverage.ts'
import { aggregateScores } from '../../../jobs/aggregate-scores.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { MAX_CLUSTERS } from '../../../sql/evals/cell-groups.ts'
import { markCellsDirty } from '../../../sql/evals/cell-marks.ts'
import { aggregateDay } from '../../../sql/evals/score-cells.ts'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { recomputeCells } from '../../support/score-cells.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

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
    t.same(
      before.map(({ shared_clusters, clusters }) => clusters.length === shared_clusters),
      [true, true, true],
    )
  })

  t.test('write those clusters alone that differ', async (t) => {
    const { sql } = service
    const shared = traces((i) => ({ cluster: `s${i % 8}`, session_id: `s${i % 8}` }))
    const { orgId, recompute } = await openAggregates(service, shared)
    const places = async () => {
      const rows = await sql<{ ctid: string }[]>`
        select ctid::text from score_cell_clusters where org_id = ${orgId}`
      return new Set(rows.map(({ ctid }) => ctid))
    }
    const before = await places()
    await sql`update eval_scores set value = 0.011 where org_id = ${orgId} and trace_id = 't5'`
    await recompute()
    const after = await places()
    t.equal(after.size, before.size)
    t.equal(after.difference(before).size, 1)
    await sql`delete from eval_scores where org_id = ${orgId} and trace_id <> 't5'`
    await recompute()
    t.equal((await places()).size, 1, 'and none of scores that are gone')
  })

  t.test('have no interval where there are too many clusters to read', async (t) => {
    const { sql } = service
    const { orgId, aggregate } = await openAggregates(service, traces(sessionOf))
    const have = async (query: string) =>
      (await aggregate(query)).map(({ ci95_low }) => ci95_low !== null)
    t.same(await have('name=reward'), [true])
    await sql`update score_cells set shared_clusters = ${MAX_CLUSTERS}::int
      where org_id = ${orgId} and day = '2026-01-02'`
    t.same(await have('name=reward'), [false])
    t.same(await have('name=reward&since=2026-01-03T00:00:00Z'), [true])
  })
})

t.test('the aggregation of a project', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const started_at = '2026-01-01T10:00:00Z'

  t.test('ends though scores go on coming', async (t) => {
    const org = await service.makeOrganization()
    await storeJudged(sql, org, [{ trace_id: 't', started_at }])
    await sql`create function mark_again() returns trigger language plpgsql as $$ begin
      insert into score_cells_dirty (org_id, project_id, agent_name, day)
      select distinct org_id, project_id, agent_name, day from score_cells;
      return null; end $$`
    await sql`create trigger marks after insert on score_cells execute function mark_again()`
    await aggregateNow(org)
    await sql`drop trigger marks on score_cells`
    t.match(await countsOf(org), { cells: 1, dirty: 1 })
  })

  t.test('leaves a day to another job that is at it, and comes again', async (t) => {
    const org = await service.makeOrganization()
    const { orgId, projectId } = org
    await storeJudged(sql, org, [{ trace_id: 't', started_at }])
    const key = { orgId, projectId, agentName: 'agent', day: '2026-01-01' }
    await markCellsDirty(sql, orgId, projectId, ['t'])
    const other = await sql.begin(async (tx) => {
      await tx`lock table score_cells in exclusive mode`
      const aggregation = aggregateDay(sql, key)
      await until(() => countLockWaits(sql, { table: 'score_cells' }))
      await aggregateNow(org)
      return { aggregation }
    })
    t.equal(await other.aggregation, 'done')
    const counts = await countsOf(org)
    t.match(counts, { cells: 1, dirty: 1 })
    t.ok([0, 1].includes(counts?.['delay'] as number), '0 when it was taken meanwhile, and let go')
  })

  t.test('puts off a day of many scores that was summed up just now', async (t) => {
    const org = await service.makeOrganization()
    const { orgId } = org
    await storeJudged(sql, org, [{ trace_id: 't', started_at }])
    await aggregateNow(org)
    t.match(await countsOf(org), { cells: 1, dirty: 0, delay: null })
    await sql`update score_cells set n = 100000 where org_id = ${orgId}`
    await aggregateNow(org)
    t.match(await countsOf(org), { dirty: 1, delay: 30 })
    await sql`update score_cells set computed_at = now() - interval '31 s' where org_id = ${orgId}`
    await sql`delete from pgboss.job where name = 'evals.aggregate'`
    await aggregateNow(org)
    t.match(await countsOf(org), { dirty: 0, delay: null })
  })

  /** Marks all cells of the project and runs its job to the end. */
  async function aggregateNow({ orgId, projectId }: { orgId: string; projectId: string }) {
    const { queue } = service.context
    await markCellsDirty(sql, orgId, projectId, ['t'])
    await queue.transaction(sql, (tx: Transaction) =>
      queue.enqueue(tx, aggregateScores, { project_id: projectId }, { orgId }),
    )
    const workers = await service.startWorkers([aggregateScoresHandler])
    await until(async () => {
      const [done] = await sql<{ is_done: boolean }[]>`
        select bool_and(state = 'completed') as is_done from pgboss.job
        where name = 'evals.aggregate' and singleton_key is null`
      return done?.is_done
    })
    await workers.stop()
  }

  /** With the seconds that the job waits which is to come. */
  async function countsOf({ orgId }: { orgId: string }) {
    const [row] = await sql`
      select (select count(*)::int from score_cells where org_id = ${orgId}) as cells,
        (select count(*)::int from (select distinct agent_name, day from score_cells_dirty
          where org_id = ${orgId}) as days) as dirty,
        (select extract(epoch from start_after - created_on)::int from pgboss.job
          where name = 'evals.aggregate' and state = 'created'
            and data ->> 'org_id' = ${orgId}) as delay`
    return row
  }
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
    await markCellsDirty(sql, orgId, projectId, ids)
    await recomputeCells(sql, org)
  }
  await recompute()
  return {
    orgId,
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
        max, histogram, lone_clusters, lone_ss, lone_sn, lone_nn, shared_clusters, id,
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
