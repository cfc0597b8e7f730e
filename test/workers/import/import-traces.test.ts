import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { importTraces } from '../../../jobs/import-traces.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { LINES, openImports } from '../../support/imports.ts'
import { gate } from '../../support/queues.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { watchHandler } from '../../support/watched-handler.ts'

const CHUNK_BYTES = 3000
const COUNT = 1000

t.test('working off an import', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { submit, stateOf, claimOf, rescue, startProcess } = openImports(t, service)

  /** A file of traces, some lines of it bad and some traces in it twice. */
  function fileOf(count: number) {
    return Array.from({ length: count }, (_, i) => {
      if (i % 50 === 7) return '{"broken":'
      const id = i % 10 === 3 ? i - 1 : i
      return JSON.stringify({
        trace_id: `t${id}`,
        agent_name: 'a',
        task_id: `${i}`,
        scores: { s: 1 },
      })
    }).join('\n')
  }
  const file = fileOf(COUNT)
  const undisturbed = await submit(file)
  const { stop } = await service.startWorkers([importHandler({ chunkBytes: CHUNK_BYTES })])
  await undisturbed.ended()
  const expected = await stateOf(undisturbed)
  await stop()

  await t.test('leaves every trace, score, error and judgement once', async (t) => {
    t.equal(expected.traces.length, 880)
    t.equal(expected.scores.length, expected.traces.length)
    t.same(expected.judged.length, expected.traces.length)
    t.same(expected.counts, {
      imported_count: 880,
      skipped_count: 100,
      error_count: 20,
      scores_imported: 880,
      losses: {},
      progress: { bytes: file.length, bytes_total: file.length, lines: COUNT, note: null },
    })
  })

  await t.test('stores of imports that run at once what is theirs', async (t) => {
    const names = ['one', 'other', 'third']
    const fileNamed = (name: string) =>
      Array.from({ length: 400 }, (_, i) =>
        JSON.stringify({ trace_id: `t${i}`, agent_name: name, task_id: `${name} ${i}` }),
      ).join('\n')
    const imports = await Promise.all(names.map((name) => submit(fileNamed(name))))
    const { stop } = await service.startWorkers([importHandler({ chunkBytes: CHUNK_BYTES })])
    await Promise.all(imports.map(({ ended }) => ended()))
    await stop()
    for (const [i, { orgId }] of imports.entries()) {
      const rows = await sql<{ trace_id: string; task_id: string }[]>`
        select trace_id, task_id from traces where org_id = ${orgId} and agent_name = ${names[i] as string}`
      t.equal(rows.length, 400)
      t.ok(rows.every((row) => row.task_id === `${names[i]} ${row.trace_id.slice(1)}`))
    }
  })

  await t.test(
    'skips known traces that come after many new ones, and goes on with new ones',
    async (t) => {
      const ids = [...Array(300).keys(), ...Array(100).keys(), ...Array(350).keys()]
      const lines = ids.map((id) => JSON.stringify({ trace_id: `t${id}`, agent_name: 'a' }))
      const mixed = await submit(lines.join('\n'))
      const workers = await service.startWorkers([importHandler({ chunkBytes: CHUNK_BYTES })])
      t.match(await mixed.ended(), { imported_count: 350, skipped_count: 400, error_count: 0 })
      const { traces, judged } = await stateOf(mixed)
      t.equal(traces.length, 350)
      t.equal(judged.length, 350)
      await workers.stop()
    },
  )

  await t.test('goes on where a killed process stopped, losing and doubling nothing', async (t) => {
    for (const upload of [Buffer.from(file), gzipSync(file)]) {
      const killed = await submit(upload)
      let kills = 0
      let seen = 0
      for (; kills < 2; kills++) {
        const child = startProcess(CHUNK_BYTES, 'line')
        await until(async () => (await killed.show()).progress.lines > seen)
        child.kill('SIGKILL')
        await once(child, 'exit')
        seen = (await killed.show()).progress.lines
        await rescue(killed)
      }
      t.ok(seen < COUNT, `${kills} kills up to line ${seen}`)
      t.match(await killed.show(), { finished_at: null })
      const child = startProcess(CHUNK_BYTES)
      await killed.ended()
      child.kill('SIGKILL')
      const state = await stateOf(killed)
      const { progress: _, ...counts } = expected.counts
      t.match(state.counts, counts)
      t.strictSame({ ...state, counts }, { ...expected, counts })
      t.equal((await claimOf(killed))?.retry_count, 0, 'losses on the way cost no retry')
    }
  })

  await t.test('goes on in slices', async (t) => {
    const sliced = await submit(file)
    const handler = importHandler({ chunkBytes: 20_000, sliceSeconds: 0 })
    const workers = await service.startWorkers([handler])
    await sliced.ended()
    t.strictSame(await stateOf(sliced), expected)
    t.ok(((await claimOf(sliced))?.attempt ?? 0) > 3, 'it took several runs')
    await workers.stop()
  })

  await t.test('stops with its process and goes on with another, costing no attempt', async (t) => {
    const drained = await submit(file)
    const { work } = importHandler({ chunkBytes: CHUNK_BYTES })
    // So that it is not done before it is told to stop.
    const waiting = handler(importTraces, (payload, run) => {
      let steps = 0
      return work(payload, {
        ...run,
        async checkpoint(tx, progress, checkpoint) {
          if (steps++ > 0 && !run.signal.aborted) await once(run.signal, 'abort')
          return run.checkpoint(tx, progress, checkpoint)
        },
      })
    })
    const first = await service.startWorkers([waiting])
    await until(async () => (await drained.show()).progress.lines > 0)
    await first.stop()
    t.match(await claimOf(drained), { state: 'queued', interruptions: 1 })
    const second = await service.startWorkers([importHandler({ chunkBytes: CHUNK_BYTES })])
    await drained.ended()
    t.strictSame(await stateOf(drained), expected)
    await second.stop()
  })

  await t.test('stops when it is canceled and keeps what it has', async (t) => {
    const canceled = await submit(fileOf(20_000))
    const workers = await service.startWorkers([importHandler({ chunkBytes: CHUNK_BYTES })])
    await until(async () => (await canceled.show()).progress.lines > 0)
    t.equal((await canceled.post(`/import/${canceled.importId}/cancel`)).status, 202)
    const shown = await canceled.ended()
    t.match(shown, { status: 'canceled' })
    t.ok(shown.imported_count > 0 && shown.imported_count < 17_000, 'some of 17,600')
    const { traces, counts } = await stateOf(canceled)
    t.equal(traces.length, counts.imported_count)
    const [{ storage_key: key } = {}] = await sql`
      select storage_key from imports where id = ${canceled.importId}`
    t.equal(key, null, 'the upload is gone')
    await workers.stop()
  })

  await t.test('keeps nothing of the chunk that is being stored when it is canceled', async (t) => {
    const watched = watchHandler(importHandler())
    const workers = await service.startWorkers([watched.handler])
    const locked = gate()
    const released = gate()
    const holding = sql.begin(async (tx) => {
      await tx`lock table traces in share row exclusive mode`
      locked.open()
      await released.opened
    })
    await locked.opened
    const canceled = await submit(file)
    await until(() => countLockWaits(sql, { table: 'traces' }))
    t.equal((await canceled.post(`/import/${canceled.importId}/cancel`)).status, 202)
    await watched.aborted()
    released.open()
    await holding
    t.match(await canceled.ended(), { status: 'canceled', imported_count: 0 })
    t.match(await stateOf(canceled), { traces: [], scores: [], judged: [] })
    await workers.stop()
  })

  await t.test('stores all scores of a chunk that has more of them than go together', async (t) => {
    const scores = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`s${n}`, n / 30]))
    const line = (n: number) => JSON.stringify({ trace_id: `t${n}`, agent_name: 'a', scores })
    const scored = await submit(Array.from({ length: 350 }, (_, n) => line(n)).join('\n'))
    const workers = await service.startWorkers([importHandler()])
    t.match(await scored.ended(), { status: 'succeeded', scores_imported: 10_500 })
    const [row] = await sql`
      select count(*)::int as n, sum(value) as sum from eval_scores where org_id = ${scored.orgId}`
    t.match(row, { n: 10_500 })
    t.equal(Math.round(row?.['sum'] as number), Math.round((350 * 29) / 2))
    await workers.stop()
  })

  await t.test('a record that the database refuses costs only itself', async (t) => {
    await sql`alter table traces add constraint odd check (task_id not in ('0', '78', '299')) not valid`
    t.teardown(() => sql`alter table traces drop constraint odd`)
    const refused = await submit(fileOf(300))
    const workers = await service.startWorkers([importHandler({ chunkBytes: 1 << 20 })])
    t.match(await refused.ended(), {
      status: 'succeeded',
      imported_count: 261,
      skipped_count: 30,
      error_count: 9,
    })
    const { errors, scores } = await stateOf(refused)
    const lines = errors.filter(({ code }) => code === 'refused').map(({ line }) => line as number)
    t.same(lines, [1, 79, 300])
    t.equal(scores.length, 261)
    await workers.stop()
  })

  await t.test('a trace that another import brings meanwhile is skipped', async (t) => {
    const first = await submit(file)
    const again = () => first.call('POST', '/import/jsonl', file, LINES)
    const others = await Promise.all([again(), again()])
    const workers = await service.startWorkers([importHandler({ chunkBytes: 10_000 })], 3)
    await first.ended()
    const ids = others.map(({ body }) => body.import_id as string)
    await until(async () => {
      const shown = await Promise.all(ids.map((id) => first.get(`/import/${id}`)))
      return shown.every(({ body }) => body.finished_at)
    })
    const [sums] = await sql`
      select sum(imported_count)::int as imported, sum(skipped_count)::int as skipped,
        sum(error_count)::int as errors from imports where org_id = ${first.orgId}`
    t.same(sums, { imported: 880, skipped: 100 + 2 * 980, errors: 60 })
    t.equal((await stateOf(first)).traces.length, 880)
    await workers.stop()
  })
})
