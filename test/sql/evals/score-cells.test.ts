import t from 'tap'
import type { Test } from 'tap'
import { PLAIN_SCORE } from '../../../jobs/rules/evals/score.ts'
import { markCellsDirty, markDays, markJudged } from '../../../sql/evals/cell-marks.ts'
import { aggregateDay } from '../../../sql/evals/score-cells.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { upsertScores } from '../../../sql/evals/eval-scores.ts'
import { lockTraces } from '../../../sql/traces/traces.ts'
import { judgeTraces } from '../../../sql/transactions/judge-traces.ts'
import { reviseTrace } from '../../../sql/transactions/revise-trace.ts'
import fc from '../../support/property.ts'
import { recomputeCells } from '../../support/score-cells.ts'
import { openService } from '../../support/service.ts'
import { traceState } from '../../support/trace-state.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

const service = await openService(t)
const { sql } = service
const { queue } = service.context

t.test('whatever happens to traces, cells are what all scores add up to', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step(), { minLength: 10, maxLength: 40 }), async (steps) => {
      const project = await openProject()
      for (const each of steps) await project.take(each)
      await t.test('', (t) => checkCells(t, project))
    }),
    { numRuns: 15 },
  )
})

t.test('writers and workers at one time lose no score and count none twice', async (t) => {
  const project = await openProject()
  const writers = fc.sample(fc.array(step(), { minLength: 60, maxLength: 60 }), 4)
  let areWriting = true
  const aggregate = async () => {
    while (areWriting) await recomputeCells(sql, project)
  }
  const workers = [aggregate(), aggregate()]
  await Promise.all(
    writers.map(async (steps) => {
      for (const each of steps) await project.take(each)
    }),
  ).finally(() => {
    areWriting = false
  })
  await Promise.all(workers)
  await checkCells(t, project)
})

t.test('a first verdict adds the trace to what is stored', async (t) => {
  const project = await openProject()
  await project.store('early', 'late')
  await project.judge('early')
  await recomputeCells(sql, project)
  t.same(await project.countScores(), { n: 1 })
  await sql`update score_cells set n = n + 100 where org_id = ${project.orgId}`
  await project.judge('late')
  t.same(await project.listMarks(), ['late'])
  await recomputeCells(sql, project)
  t.same(await project.countScores(), { n: 102 }, 'and nothing else was read')
  await project.judge('late')
  t.same(await project.listMarks(), [], 'the same verdict again changes nothing')
})

t.test('more traces than a page are added page by page', async (t) => {
  const project = await openProject()
  const ids = Array.from({ length: 501 }, (_, i) => `t${i}`)
  await project.store(...ids)
  await project.judge(...ids)
  t.equal(await aggregateDay(sql, project.key), 'more')
  t.same(await project.countScores(), { n: 500 })
  t.equal(await aggregateDay(sql, project.key), 'done')
  t.same(await project.countScores(), { n: 501 })
  t.equal(await aggregateDay(sql, project.key), 'done', 'with nothing marked')
  await checkCells(t, project)
})

t.test('a day that is added up anew takes the marks of its traces', async (t) => {
  const project = await openProject()
  await project.store('a', 'b', 'c')
  await project.judge('a', 'b')
  await project.mark('a')
  t.same(await project.listMarks(), [null, 'a', 'b'])
  t.equal(await aggregateDay(sql, project.key), 'done')
  t.same(await project.listMarks(), [])
  t.same(await project.countScores(), { n: 2 })
})

t.test('a trace that is judged while its day is added up is counted once', async (t) => {
  const project = await openProject()
  await project.store('a', 'b')
  await project.judge('a')
  await project.mark('a')
  const { aggregation } = await sql.begin(async (tx) => {
    await tx`lock table score_cells in access exclusive mode`
    const aggregation = aggregateDay(sql, project.key)
    await until(() => countLockWaits(sql, { table: 'score_cells' }))
    await project.judge('b')
    return { aggregation }
  })
  t.equal(await aggregation, 'done')
  t.same(await project.listMarks(), ['b'])
  t.same(await project.countScores(), { n: 1 })
  await recomputeCells(sql, project)
  t.same(await project.countScores(), { n: 2 })
})

t.test('marks that another worker took meanwhile are left to it', async (t) => {
  const project = await openProject()
  await project.store('a')
  await project.judge('a')
  const { aggregation } = await sql.begin(async (tx) => {
    await tx`delete from score_cells_dirty where org_id = ${project.orgId}`
    const aggregation = aggregateDay(sql, project.key)
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like '%score_cells_dirty%'`
      return waiting.length > 0
    })
    return { aggregation }
  })
  t.equal(await aggregation, 'taken')
  t.same(await project.countScores(), { n: null })
})

t.test('a score that comes while its trace is judged is counted', async (t) => {
  const project = await openProject()
  const { orgId, projectId } = project
  await project.store('a')
  const { judging } = await sql.begin(async (tx) => {
    await lockTraces(tx, orgId, projectId, ['a'])
    await upsertScores(tx, orgId, projectId, [{ ...SCORE, trace_id: 'a' }])
    await markCellsDirty(tx, orgId, projectId, ['a'])
    let isJudged = false
    const judging = project.judge('a').then(() => (isJudged = true))
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return isJudged || waiting.length > 0
    })
    await recomputeCells(sql, project)
    return { judging }
  })
  await judging
  await checkCells(t, project)
})

t.test('a trace without a verdict is in no cell and marks none', async (t) => {
  const project = await openProject()
  await project.store('unjudged')
  await project.mark('unjudged')
  t.same(await project.listMarks(), [])
  const days = sql`
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date as day
    from traces where org_id = ${project.orgId}`
  await markDays(sql, days)
  t.same(await project.listMarks(), [null])
  await recomputeCells(sql, project)
  t.same(await project.countScores(), { n: null })
})

t.test('beside the release before, a first verdict marks the day', async (t) => {
  const project = await openProject()
  await project.store('a')
  await project.judge('a')
  await recomputeCells(sql, project)
  await sql
    .begin(async (tx) => {
      await tx`drop function make_trace_period`
      await markJudged(tx, project.orgId, project.projectId, ['a'])
      t.match(await tx`select trace_id from score_cells_dirty where org_id = ${project.orgId}`, [
        { trace_id: null },
      ])
      throw new Error('rolled back')
    })
    .catch((error: unknown) => t.match(error, { message: 'rolled back' }))
})

/** The cells as they are, those that all scores make, and what these say themselves. */
async function checkCells(t: Test, project: Project) {
  await recomputeCells(sql, project)
  t.same(await project.listMarks(), [])
  const { score_cells, score_cell_clusters } = await traceState(sql, project.orgId, {})
  await markDays(
    sql,
    sql`
      select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date as day
      from traces where org_id = ${project.orgId}
      union select org_id, project_id, agent_name, day from score_cells
      where org_id = ${project.orgId}`,
  )
  await recomputeCells(sql, project)
  const anew = await traceState(sql, project.orgId, {})
  t.same(score_cells, anew['score_cells'])
  t.same(score_cell_clusters, anew['score_cell_clusters'])
  t.same(
    await sql`
      select t.agent_name, (t.started_at at time zone 'UTC')::date::text as day, s.name, v.verdict,
        count(*) as n, round(sum(value)::numeric, 9) as sum
      from traces t join verdicts v using (org_id, project_id, trace_id)
        join eval_scores s using (org_id, project_id, trace_id)
      where org_id = ${project.orgId} and value is not null group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    await sql`
      select agent_name, day::text as day, name, verdict, sum(n)::bigint as n,
        round(sum(sum)::numeric, 9) as sum
      from score_cells where org_id = ${project.orgId} group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
  )
}

/** A project whose traces have one score that the tests count, besides those of judgement. */
async function openProject() {
  const org = await service.makeOrganization()
  const { orgId, projectId } = org
  const client = service.client(org.key)
  const judge = (...ids: string[]) =>
    sql.begin((tx) => judgeTraces(tx, queue, orgId, projectId, ids))
  return {
    orgId,
    projectId,
    key: { orgId, projectId, agentName: 'a', day: '2026-03-01' },
    judge,
    store: (...ids: string[]) =>
      client.post(
        '/traces/batch',
        ids.map((id) => ({
          id,
          agent_name: 'a',
          started_at: '2026-03-01T10:00:00Z',
          user_input_preview: id,
          final_output_preview: 'answer',
          scores: { reward: 1 },
        })),
      ),
    mark: (...ids: string[]) => markCellsDirty(sql, orgId, projectId, ids),
    /** What is marked: the ids of traces, null for a day. */
    async listMarks() {
      const marks = await sql<{ trace_id: string | null }[]>`
        select trace_id from score_cells_dirty where org_id = ${orgId} order by trace_id nulls first`
      return marks.map(({ trace_id }) => trace_id)
    },
    async countScores() {
      const [row] = await sql`
        select sum(n)::int as n from score_cells where org_id = ${orgId} and name = 'reward'`
      return row
    },
    async take({ kind, id, value, form }: Step) {
      const key = { org_id: orgId, project_id: projectId, trace_id: id }
      switch (kind) {
        case 'store':
          await client.post('/traces', { id, ...form, scores: { reward: value } })
          break
        case 'judge':
          await judge(id, `${id}'`)
          break
        case 'score':
          await client.post('/eval-scores', {
            source: 'human',
            scores: [{ trace_id: id, name: value > 0.5 ? 'reward' : 'other', score: value }],
          })
          break
        case 'revise': {
          const { started_at, ...row } = form
          await queue.transaction(sql, (tx: Transaction) =>
            reviseTrace(tx, queue, key, (stored) => ({
              ...stored,
              ...row,
              started_at: new Date(started_at),
            })),
          )
          break
        }
        case 'delete':
          await client.delete(`/traces/${id}`)
          break
        case 'aggregate':
          await recomputeCells(sql, { orgId, projectId })
      }
    },
  }
}

function step() {
  return fc.record({
    // More are stored, scored and judged than deleted.
    kind: fc.constantFrom(
      ...(['store', 'store', 'judge', 'judge', 'score', 'revise', 'delete', 'aggregate'] as const),
    ),
    id: fc.constantFrom('x', "x'", 'y', "y'", 'z', "z'"),
    value: fc.constantFrom(0, 0.1, 0.3, 0.7, 1),
    form: fc.record({
      agent_name: fc.constantFrom('a', 'b'),
      started_at: fc.constantFrom('2026-03-01T10:00:00Z', '2026-03-02T10:00:00Z'),
      status: fc.constantFrom('success', 'success', 'error', 'running'),
      session_id: fc.constantFrom(null, 's1', 's2'),
      task_id: fc.constantFrom(null, 'task'),
      user_input_preview: fc.constantFrom('one', 'two', 'three'),
      final_output_preview: fc.constant('answer'),
    }),
  })
}

const SCORE = {
  ...PLAIN_SCORE,
  name: 'late',
  source: 'human',
  source_kind: 'human',
  value: 1,
  data_type: 'numeric',
  category: 'quality',
  metadata: {},
} as const

type Project = Awaited<ReturnType<typeof openProject>>
type Step = ReturnType<typeof step> extends fc.Arbitrary<infer T> ? T : never
