import t from 'tap'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { openRestores } from '../../../support/backup/restores.ts'
import { backupOf, scoreLine, traceLine, verdictLine } from '../../../support/backup-lines.ts'
import type { TestLine } from '../../../support/backup-lines.ts'
import { openService } from '../../../support/service.ts'

t.test('traces that faulty lines are about', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const restore = openRestores(t, service)
  // A trace with its lines is cut after eight chunks.
  await service.startWorkers([restoreHandler({ chunkBytes: 1000 })])
  const traceIds = async ({ orgId }: { orgId: string }) => {
    const rows = await sql`
      select trace_id from traces where org_id = ${orgId} order by trace_id`
    return rows.map(({ trace_id }) => trace_id)
  }
  const judged = async ({ orgId }: { orgId: string }) => {
    const rows = await sql`
      select jsonb_array_elements_text(data->'payload'->'trace_ids') as id from pgboss.job
      where name = 'evals.judge' and data->>'org_id' = ${orgId} order by id`
    return rows.map(({ id }) => id)
  }
  const nowhere = { agent_name: 'shop', manifest_hash: 'sha256:none' }

  await t.test('are judged where their decision could not be stored', async (t) => {
    const lines = [
      traceLine('a'),
      verdictLine('a', { target_manifest: nowhere }),
      traceLine('b'),
      verdictLine('b', { verdict: 'planet' }),
      traceLine('c'),
      verdictLine('c'),
    ]
    const ended = await restore(backupOf(lines))
    t.same(ended.told, [
      [3, 'unknown_reference'],
      [5, 'refused'],
    ])
    t.same(await traceIds(ended), ['a', 'b', 'c'])
    t.same(await judged(ended), ['a', 'b'])
  })

  await t.test('are left out, so that the whole adds them with all lines', async (t) => {
    const whole = backupOf([
      traceLine('a'),
      scoreLine('a'),
      verdictLine('a'),
      traceLine('b'),
      scoreLine('b'),
    ])
    const lines = whole.split('\n')
    const damages = [
      ['{', /^\{"kind":"verdict"/],
      ['{"kind":"verdict","project":7}', /^\{"kind":"verdict"/],
      ['[]', /^\{"kind":"verdict"/],
      ['\xff', /^\{"kind":"verdict"/],
    ] as const
    for (const [damage, at] of damages) {
      const damaged = lines.map((line) => (at.test(line) ? damage : line)).join('\n')
      const first = await restore(Buffer.from(damaged, 'latin1'))
      t.same(await traceIds(first), ['b'], damage)
      t.match(first.told, [[2, 'left_out'], [4]], damage)
      t.match(first.errors[0]?.message, /line 4/)
      t.match((await restore(whole, first)).shown, { status: 'succeeded', error_count: 0 })
      t.same(await traceIds(first), ['a', 'b'])
      const verdicts = await sql`select from verdicts where org_id = ${first.orgId}`
      t.equal(verdicts.length, 1)
    }
  })

  await t.test('are taken away again where they were stored before the line', async (t) => {
    const scores = Array.from({ length: 60 }, (_, i) => scoreLine('a', { name: `s${i}` }))
    const lines: TestLine[] = [traceLine('a'), ...scores, traceLine('b')]
    const faulty = lines.with(58, scoreLine('a', { value: 'high' }))
    const first = await restore(backupOf(faulty))
    t.match(first.shown, { status: 'succeeded', imported_count: 1 })
    t.same(first.told, [
      [2, 'left_out'],
      [60, 'invalid_line'],
    ])
    t.same(await traceIds(first), ['b'])
    t.match((await restore(backupOf(lines), first)).shown, {
      imported_count: 1,
      skipped_count: 1,
      scores_imported: 60,
    })
  })

  await t.test('stay where the key may not restore a line, or its kind is of later', async (t) => {
    const lines = [traceLine('a'), { kind: 'comet', trace_id: 'a' }, scoreLine('a')]
    const ended = await restore(backupOf(lines))
    t.same(ended.told, [[3, 'unknown_kind']])
    t.match(ended.shown, { imported_count: 1, scores_imported: 1 })
  })
})
