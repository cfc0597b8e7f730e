import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import t from 'tap'
import { partsGone } from '../../../jobs/import-cursor.ts'
import { importTraces } from '../../../jobs/import-traces.ts'
import { deleteParts, endLeftImport } from '../../../sql/import/import-parts.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { deleteExpiredHandler } from '../../../workers/maintenance/delete-expired.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { openImports } from '../../support/imports.ts'
import type { Submitted } from '../../support/imports.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const BYTES = 4000
const TRACES = 120

/** A span as Phoenix writes it. */
function span(trace: number, name: string, parent: string | null, others: object = {}) {
  const second = String(trace % 60).padStart(2, '0')
  return {
    name,
    context: { trace_id: `t${trace}`, span_id: `${name}${trace}` },
    parent_id: parent && `${parent}${trace}`,
    span_kind: 'CHAIN',
    start_time: `2026-01-01T00:00:${second}Z`,
    end_time: `2026-01-01T00:01:${second}Z`,
    status_code: 'OK',
    attributes: {},
    ...others,
  }
}
const annotation = (trace: number, score: number, day = '2026-01-02') => ({
  id: `a${trace}`,
  updated_at: `${day}T00:00:00Z`,
  trace_id: `t${trace}`,
  name: 'helpful',
  annotator_kind: 'HUMAN',
  result: { score },
})
const call = (trace: number) => ({
  span_kind: 'LLM',
  attributes: {
    'llm.model_name': 'm',
    'llm.input_messages.0.message.role': 'user',
    'llm.input_messages.0.message.content': `question ${trace}`,
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.content': `answer ${trace}`,
  },
})

/** Spans sorted by name, with scores between, some lines bad and some of them twice. */
function recordsOf(count: number) {
  const traces = Array.from({ length: count }, (_, i) => i)
  return [
    ...traces.map((i) => span(i, 'ask', 'run', call(i))),
    ...traces.map((i) => annotation(i, (i % 10) / 10)),
    '{"broken":',
    ...traces.map((i) => span(i, 'run', null)),
    ...traces.slice(0, 10).map((i) => span(i, 'ask', 'run', call(i))),
    ...traces.map((i) => span(i, 'search', 'ask', { span_kind: 'TOOL' })),
    annotation(count + 1, 1),
  ]
}
const linesOf = (records: readonly (object | string)[]) =>
  records.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n')

/** An archive of three files that have these lines one after the other. */
async function archiveOf(lines: readonly string[]) {
  const archive = pack()
  const third = Math.ceil(lines.length / 3)
  for (const at of [0, third, 2 * third]) {
    archive.entry({ name: `${at}.jsonl` }, lines.slice(at, at + third).join('\n'))
  }
  archive.finalize()
  return gzipSync(Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>)))
}

t.test('importing pieces of traces', async (t) => {
  const env = { QUOTA_TRACES_INGESTED: '50,100000,100000,100000' }
  const service = await openService(t, { env })
  const { sql } = service
  const imports = openImports(t, service)
  const { submit, stateOf, claimOf, rescue, startProcess, countStaged } = imports
  const small = { chunkBytes: BYTES, pageBytes: BYTES }
  const startWorkers = (options: Parameters<typeof importHandler>[0] = small) =>
    service.startWorkers([importHandler(options)])

  async function phaseOf({ jobId }: Submitted) {
    const [row] = await sql<{ checkpoint: { assembled?: number; line: number } | null }[]>`
      select checkpoint from jobs where id = ${jobId}`
    return { assembled: row?.checkpoint?.assembled ?? 0, line: row?.checkpoint?.line ?? 0 }
  }

  const file = linesOf(recordsOf(TRACES))
  const undisturbed = await submit(file)
  const { stop } = await startWorkers({})
  await undisturbed.ended()
  const expected = await stateOf(undisturbed)
  await stop()

  await t.test('each trace is put together once, from wherever its pieces are', async (t) => {
    t.equal(expected.traces.length, TRACES)
    t.equal(expected.scores.length, TRACES)
    t.equal(expected.judged.length, TRACES)
    t.match(expected.counts, {
      imported_count: TRACES,
      skipped_count: 0,
      error_count: 1,
      scores_imported: TRACES,
      losses: { score_without_trace: 1 },
      progress: { bytes: file.length, bytes_total: file.length },
    })
    const [row] = await sql`
      select * from traces where org_id = ${undisturbed.orgId} and trace_id = 't7'`
    t.match(row, {
      span_count: 3,
      llm_call_count: 1,
      status: 'success',
      user_input_preview: 'question 7',
      final_output_preview: 'answer 7',
      metadata: { import: { source: 'phoenix', trace_id: 't7' } },
    })
    t.equal(await countStaged(), 0, 'nothing stays staged')
    t.match(await undisturbed.show(), { source: 'phoenix', incomplete_trace_ids: [] })
  })

  await t.test('small chunks and pages give the same as large ones', async (t) => {
    const cut = await submit(file)
    const workers = await startWorkers()
    await cut.ended()
    t.strictSame(await stateOf(cut), expected)
    await workers.stop()
  })

  await t.test('goes on where a killed process stopped, in either phase', async (t) => {
    const archive = await archiveOf(file.split('\n'))
    const eachOnce = ['line', 'assembled'] as const
    const eachTwice = ['line', 'line', 'assembled', 'assembled'] as const
    for (const [upload, kills] of [
      [Buffer.from(file), eachTwice],
      [gzipSync(file), eachOnce],
      [archive, eachOnce],
    ] as const) {
      const killed = await submit(upload)
      const isAfter = async (what: 'line' | 'assembled', seen: number) =>
        (await phaseOf(killed))[what] > seen
      for (const what of kills) {
        const seen = (await phaseOf(killed))[what]
        const child = startProcess(BYTES, what)
        await until(() => isAfter(what, seen))
        child.kill('SIGKILL')
        await once(child, 'exit')
        t.match(await killed.show(), { finished_at: null }, `killed while ${what} counts`)
        await rescue(killed)
      }
      const child = startProcess(BYTES)
      await killed.ended()
      child.kill('SIGKILL')
      const state = await stateOf(killed)
      const { progress: _, ...counts } = expected.counts
      t.match(state.counts, counts)
      t.strictSame({ ...state, counts }, { ...expected, counts })
      t.equal((await claimOf(killed))?.retry_count, 0, 'losses on the way cost no retry')
    }
    t.equal(await countStaged(), 0)
  })

  await t.test('goes on in slices', async (t) => {
    const sliced = await submit(file)
    const workers = await startWorkers({ ...small, sliceSeconds: 0 })
    await sliced.ended()
    t.strictSame(await stateOf(sliced), expected)
    t.ok(((await claimOf(sliced))?.attempt ?? 0) > 10, 'it took several runs')
    await workers.stop()
  })

  await t.test('percent never falls and ends at the whole', async (t) => {
    const shown: number[] = []
    const watched = await submit(file)
    const { work } = importHandler(small)
    const noting = handler(importTraces, (payload, run) =>
      work(payload, {
        ...run,
        checkpoint(tx, progress, checkpoint) {
          shown.push(progress.done / (progress.total ?? NaN))
          return run.checkpoint(tx, progress, checkpoint)
        },
      }),
    )
    const workers = await service.startWorkers([noting])
    await watched.ended()
    await workers.stop()
    t.same(
      shown,
      shown.toSorted((a, b) => a - b),
    )
    t.equal(shown.at(-1), 1)
    t.ok(shown.filter((share) => share > 0.9 && share < 1).length > 3, 'it is seen assembling')
  })

  await t.test('stops when it is canceled and leaves nothing staged', async (t) => {
    const canceled = await submit(linesOf(recordsOf(3000)))
    const workers = await startWorkers({ ...small, chunkBytes: 1 << 20 })
    await until(async () => (await phaseOf(canceled)).assembled > 0)
    t.equal((await canceled.post(`/import/${canceled.importId}/cancel`)).status, 202)
    const shown = await canceled.ended()
    t.match(shown, { status: 'canceled' })
    t.ok(shown.imported_count > 0 && shown.imported_count < 3000, `${shown.imported_count}`)
    t.equal((await stateOf(canceled)).traces.length, shown.imported_count)
    t.equal(await countStaged(), 0)
    await workers.stop()
  })

  await t.test('a dry run counts the same and stores nothing', async (t) => {
    const workers = await startWorkers()
    const dry = await submit(file, '?dry_run=true')
    const shown = await dry.ended()
    t.match(shown, { imported_count: TRACES, error_count: 1, losses: { score_without_trace: 1 } })
    t.match(await stateOf(dry), { traces: [], scores: [], judged: [] })
    t.equal(await countStaged(), 0)
    await workers.stop()
  })

  await t.test('the same file again changes nothing, and judges nothing', async (t) => {
    const workers = await startWorkers()
    const again = await submit(file, '', undisturbed)
    t.match(await again.ended(), {
      imported_count: 0,
      skipped_count: TRACES,
      scores_imported: 0,
      losses: { score_without_trace: 1 },
    })
    const { traces, scores, judged } = await stateOf(again)
    t.equal(traces.length, TRACES)
    t.strictSame(scores, expected.scores)
    t.equal(judged.length, TRACES)
    await workers.stop()
  })

  await t.test(
    'a later export brings later scores, and only theirs are judged again',
    async (t) => {
      const workers = await startWorkers()
      const records = [
        ...recordsOf(TRACES),
        annotation(3, 0.9, '2026-01-03'),
        { ...annotation(4, 1), id: 'new' },
        span(5, 'ask', 'run', { annotations: [{ ...annotation(5, 1), id: 'inside' }] }),
      ]
      const later = await submit(linesOf(records), '', undisturbed)
      const shown = await later.ended()
      t.match(shown, { imported_count: 0, skipped_count: TRACES })
      const { scores, judged } = await stateOf(later)
      const known = new Set(expected.scores.map((each) => JSON.stringify(each)))
      const changed = scores.filter((each) => !known.has(JSON.stringify(each)))
      t.same(new Set(changed.map(({ trace_id }) => trace_id)), new Set(['t3', 't4', 't5']))
      t.equal(shown.scores_imported, changed.length)
      t.equal(judged.length, TRACES + 3)
      await workers.stop()
    },
  )

  await t.test('scores of a trace that was deleted meanwhile are told as lost', async (t) => {
    const workers = await startWorkers()
    const org = await submit(file)
    await org.ended()
    await org.call('DELETE', '/traces/t5')
    const later = await submit(linesOf([annotation(5, 1), annotation(6, 1)]), '', org)
    t.match(await later.ended(), {
      imported_count: 0,
      skipped_count: 1,
      scores_imported: 1,
      losses: { score_without_trace: 1 },
    })
    await workers.stop()
  })

  await t.test('corrections become annotations, each of them once', async (t) => {
    const observation = {
      id: 'o',
      traceId: 'c1',
      type: 'AGENT',
      name: 'run',
      startTime: '2026-01-01T00:00:00Z',
    }
    const correction = (id: string, text: string) => ({
      id,
      traceId: 'c1',
      name: 'output',
      dataType: 'CORRECTION',
      stringValue: text,
      source: 'ANNOTATION',
      timestamp: '2026-01-02T00:00:00Z',
    })
    const workers = await startWorkers()
    const first = await submit(linesOf([observation, correction('k1', 'better')]))
    t.match(await first.ended(), { imported_count: 1, error_count: 0, source: 'langfuse' })
    const judging = async () => {
      const [row] = await sql<[{ n: number }]>`
        select count(*)::int as n from pgboss.job
        where name = 'evals.judge' and data ->> 'org_id' = ${first.orgId}`
      return row.n
    }
    t.equal(await judging(), 1, 'a new trace is judged once')
    const records = [observation, correction('k1', 'better'), correction('k2', 'best')]
    const later = await submit(linesOf(records), '', first)
    t.match(await later.ended(), { imported_count: 0, skipped_count: 1, losses: {} })
    t.equal(await judging(), 2, 'and anew by a new correction')
    const again = await submit(linesOf(records), '', first)
    await again.ended()
    t.equal(await judging(), 2, 'not by those that it had')
    const rows = await sql`
      select corrected_output, created_by, created_at from annotations
      where org_id = ${first.orgId} and trace_id = 'c1' order by id`
    t.same(new Set(rows.map((row) => row['corrected_output'])), new Set(['better', 'best']))
    t.equal(rows.length, 2)
    t.match(rows[0], { created_by: first.keyId, created_at: new Date('2026-01-02T00:00:00Z') })
    await workers.stop()
  })

  await t.test('stops at the first line of the trace that the quota does not hold', async (t) => {
    for (const pageBytes of [BYTES, 4 << 20]) {
      const org = await service.makeOrganization()
      await sql`update organizations set plan = 'free' where id = ${org.orgId}`
      const capped = await submit(file, '', org)
      const workers = await startWorkers({ ...small, pageBytes })
      t.match(await capped.ended(), {
        status: 'capped',
        imported_count: 50,
        capped_at_line: 51,
        scores_imported: 50,
      })
      t.equal((await stateOf(capped)).traces.length, 50)
      t.equal(await countStaged(), 0)
      await workers.stop()
    }
  })

  await t.test('a trace that is too large costs itself alone', async (t) => {
    const records = [
      span(1, 'run', null),
      ...Array.from({ length: 30 }, (_, i) => span(2, `s${i}x`, null)),
      span(3, 'run', null, { attributes: { big: 'x'.repeat(20_000) } }),
    ]
    const workers = await startWorkers({ ...small, traceParts: 20, traceBytes: 15_000 })
    const large = await submit(linesOf(records))
    t.match(await large.ended(), { imported_count: 1, error_count: 2 })
    const { errors, traces } = await stateOf(large)
    t.same(errors, [
      { line: 2, code: 'trace_too_large' },
      { line: 32, code: 'trace_too_large' },
    ])
    t.equal(traces[0]?.['trace_id'], 't1')
    await workers.stop()
  })

  await t.test('of a file that breaks off, traces with gaps are partial and named', async (t) => {
    const whole = linesOf([
      span(1, 'run', null),
      span(2, 'ask', 'run', call(2)),
      span(3, 'ask', 'run', call(3)),
      span(3, 'run', null),
      span(4, 'run', null),
    ])
    const cut = Array.from({ length: 200 }, (_, i) => 100 + i)
    const asked = cut.map((i) => span(i, 'ask', 'run', call(i)))
    const packed = gzipSync(
      `${whole}\n${linesOf([...asked, ...cut.map((i) => span(i, 'run', null))])}`,
    )
    const broken = await submit(packed.subarray(0, -200))
    const workers = await startWorkers()
    const shown = await broken.ended()
    t.match(shown, { status: 'failed', error: { code: /./ } })
    const { traces } = await stateOf(broken)
    const statusOf = new Map(traces.map((row) => [row['trace_id'], row['status']]))
    t.match([...statusOf], { length: shown.imported_count })
    const partial = [...statusOf].filter(([, status]) => status === 'partial').map(([id]) => id)
    t.same(new Set(shown.incomplete_trace_ids), new Set(partial))
    t.ok(partial.includes('t299'), 'its root was behind the break')
    t.ok(partial.includes('t2'), 'its root is nowhere')
    t.equal(statusOf.get('t3'), 'success')
    t.equal(statusOf.get('t1'), 'success')
    t.equal(await countStaged(), 0)
    await workers.stop()
  })

  await t.test('what an import that ended has staged is deleted in time', async (t) => {
    const left = await submit(file)
    const key = { org_id: left.orgId, import_id: left.importId }
    await sql`insert into import_traces ${sql({ ...key, trace_id: 'x', first_line: 1, is_known: false })}`
    await sql`
      insert into import_parts ${sql({ ...key, trace_id: 'x', span_id: '', chunk_no: 900, bytes: 2, part_count: 1, content: Buffer.from('[]') })}`
    await sql`
      insert into import_chunks ${sql({ ...key, chunk_no: 900, spans: Buffer.from('[]') })}`
    const sweep = () =>
      deleteExpiredHandler.work({}, {
        ...service.context,
        signal: new AbortController().signal,
      } as never)
    await sweep()
    t.equal(await countStaged(), 3, 'one that waits keeps its own')
    await sql`update jobs set state = 'failed', finished_at = now(),
        error = '{"code": "x", "message": "x", "retryable": true}' where id = ${left.jobId}`
    await sweep()
    t.equal(await countStaged(), 3, 'one that failed may be retried')
    await sql`update jobs set finished_at = now() - interval '8 days' where id = ${left.jobId}`
    await sweep()
    t.equal(await countStaged(), 0)
  })

  await t.test(
    'one that is retried while that is deleted makes no traces of the rest',
    async (t) => {
      const late = await submit(file)
      const key = { orgId: late.orgId, importId: late.importId }
      const child = startProcess(BYTES, 'assembled')
      await until(async () => (await phaseOf(late)).assembled > 0)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await sql`delete from pgboss.job using jobs j where job.id = j.queue_job_id and j.id = ${late.jobId}`
      await sql`update jobs set state = 'failed', finished_at = now() - interval '8 days',
        error = '{"code": "x", "message": "x", "retryable": true}' where id = ${late.jobId}`
      const stored = (await stateOf(late)).traces.length
      t.ok(await endLeftImport(sql, key, partsGone))
      t.equal(await deleteParts(sql, key, 1), 1, 'the deletion has begun')
      t.equal((await late.post(`/jobs/${late.jobId}/retry`)).status, 202)
      t.notOk(await endLeftImport(sql, key, partsGone), 'nothing more is deleted under the retry')
      const workers = await startWorkers()
      t.match(await late.ended(), { status: 'failed', error: { code: 'parts_gone' } })
      t.equal((await stateOf(late)).traces.length, stored)
      t.equal(await countStaged(), 0)
      await workers.stop()
    },
  )
})
