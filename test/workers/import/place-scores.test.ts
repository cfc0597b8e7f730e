import { randomUUIDv7 } from 'node:crypto'
import { once } from 'node:events'
import t from 'tap'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { callingRow } from '../../support/calling-rows.ts'
import { openImports } from '../../support/imports.ts'
import type { Submitted } from '../../support/imports.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const BYTES = 4000
const TRACES = 60

/** A span of two in its trace, as Phoenix writes it. */
const span = (trace: number, name: 'run' | 'ask') => ({
  name,
  context: { trace_id: `t${trace}`, span_id: `${name}${trace}` },
  parent_id: name === 'run' ? null : `run${trace}`,
  span_kind: 'CHAIN',
  start_time: '2026-01-01T00:00:00Z',
  end_time: '2026-01-01T00:01:00Z',
  attributes: { 'input.value': 'x'.repeat(50) },
})
const annotation = (trace: number, others: object = {}) => ({
  id: `a${trace}`,
  updated_at: '2026-01-02T00:00:00Z',
  span_id: `ask${trace}`,
  name: 'helpful',
  annotator_kind: 'HUMAN',
  result: { score: (trace % 10) / 10 },
  ...others,
})
const traces = Array.from({ length: TRACES }, (_, i) => i)
const linesOf = (records: readonly object[]) =>
  records.map((each) => JSON.stringify(each)).join('\n')

/** Half of the annotations before their spans, and half of them behind; the last names no span there is. */
function fileOf(othersOf: (trace: number) => object) {
  const annotations = traces.map((i) => annotation(i, othersOf(i)))
  return linesOf([
    ...annotations.slice(0, TRACES / 2),
    ...traces.map((i) => span(i, 'ask')),
    ...traces.map((i) => span(i, 'run')),
    ...annotations.slice(TRACES / 2),
    annotation(TRACES),
  ])
}

t.test('scores that name only a span', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { submit, stateOf, rescue, startProcess, countStaged } = openImports(t, service)
  const start = (sliceSeconds?: number) =>
    service.startWorkers([
      importHandler({
        chunkBytes: BYTES,
        pageBytes: BYTES,
        ...(sliceSeconds === 0 && { sliceSeconds }),
      }),
    ])
  const placedOf = async ({ jobId }: Submitted) => {
    const [row] = await sql<{ placed: number }[]>`
      select coalesce((checkpoint->>'placed_chunk_no')::int, -1) as placed from jobs where id = ${jobId}`
    return row?.placed ?? -1
  }

  const workers = await start()
  const told = await submit(fileOf((i) => ({ trace_id: `t${i}` })))
  await told.ended()
  const expected = await stateOf(told)
  t.equal(expected.scores.length, TRACES)
  const file = fileOf(() => ({}))
  const whole = await submit(file)
  await whole.ended()
  await workers.stop()

  await t.test('come to their traces, as if they had named them', async (t) => {
    const state = await stateOf(whole)
    t.strictSame(state.scores, expected.scores)
    t.strictSame(state.traces, expected.traces)
    t.strictSame(state.judged, expected.judged)
    t.match(state.counts, {
      imported_count: TRACES,
      error_count: 0,
      scores_imported: TRACES,
      losses: { score_without_trace: 1 },
    })
    t.equal(await countStaged(), 0)
  })

  await t.test('come there once, in slices and after kills', async (t) => {
    const killed = await submit(file)
    for (const seen of [-1, 0]) {
      const child = startProcess(BYTES, 'placed_chunk_no')
      await until(async () => (await placedOf(killed)) > seen)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await rescue(killed)
    }
    const slices = await start(0)
    t.match(await killed.ended(), { losses: { score_without_trace: 1 } })
    const { traces: made, scores, counts } = await stateOf(killed)
    t.strictSame(scores, expected.scores)
    t.strictSame(made, expected.traces)
    t.equal(counts.scores_imported, TRACES)
    await slices.stop()
  })

  await t.test('come to traces that arrive while they are put together', async (t) => {
    const org = await service.makeOrganization()
    const row = callingRow(org, { manifest_id: randomUUIDv7(), ageSeconds: 0, n: 1 })
    const { late, workers } = await sql.begin(async (tx) => {
      await tx`lock table traces in share row exclusive mode`
      const late = await submit(file, '', org)
      const workers = await start()
      await until(() => countLockWaits(sql, { table: 'traces' }))
      await insertTraces(tx, [{ ...row, trace_id: 't0' }])
      return { late, workers }
    })
    t.match(await late.ended(), { skipped_count: 1, imported_count: TRACES - 1 })
    t.match((await stateOf(late)).scores[0], { trace_id: 't0', name: 'helpful' })
    await workers.stop()
  })

  await t.test('come to traces that the project had already', async (t) => {
    const again = await start()
    const later = annotation(3, { id: 'later', span_id: 'run3', name: 'polite' })
    const second = await submit(`${file}\n${JSON.stringify(later)}`, '', whole)
    t.match(await second.ended(), {
      imported_count: 0,
      skipped_count: TRACES,
      scores_imported: 1,
      losses: { score_without_trace: 1 },
    })
    const { scores } = await stateOf(second)
    t.equal(scores.length, TRACES + 1)
    t.match(
      scores.find(({ name }) => name === 'polite'),
      { trace_id: 't3', span_id: 'run3' },
    )
    await again.stop()
  })

  await t.test('are told as lost where no span of the file is theirs', async (t) => {
    const alone = await start()
    const only = await submit(linesOf([annotation(1), annotation(2)]))
    t.match(await only.ended(), {
      status: 'succeeded',
      imported_count: 0,
      scores_imported: 0,
      losses: { score_without_trace: 2 },
    })
    t.equal(await countStaged(), 0)
    await alone.stop()
  })
})
