import t from 'tap'
import type { Transaction } from '../../../../sql/core/db.ts'
import { stageChunk } from '../../../../sql/import/import-parts.ts'
import { boxTodo } from '../../../../sql/transactions/follow-restore.ts'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { deleteExpiredHandler } from '../../../../workers/maintenance/delete-expired.ts'
import { backupOf, traceLine, verdictLine } from '../../../support/backup-lines.ts'
import { runDeleteExpired } from '../../../support/delete-expired.ts'
import { openImports } from '../../../support/imports.ts'
import { openService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'

t.test('what a restore stored that goes on no more', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { submit, countStaged } = openImports(t, service)
  await service.startWorkers([restoreHandler({ chunkBytes: 2000 }), deleteExpiredHandler])
  const traces = async (orgId: string) => {
    const rows = await sql`
      select trace_id from traces t where org_id = ${orgId} and not exists (
        select from verdicts v where v.org_id = t.org_id and v.trace_id = t.trace_id)
      order by trace_id`
    return rows.map(({ trace_id }) => trace_id)
  }
  const asked = async (orgId: string, name = 'evals.judge') => {
    const rows = await sql`
      select distinct jsonb_array_elements_text(data->'payload'->'trace_ids') as id from pgboss.job
      where name = ${name} and data->>'org_id' = ${orgId} order by id`
    return rows.map(({ id }) => id)
  }

  await t.test('is judged where the restore was canceled', async (t) => {
    const many = Array.from({ length: 600 }, (_, i) => [traceLine(`t${i}`), traceLine(`v${i}`)])
    const lines = many.flatMap(([plain, decided], i) =>
      plain && decided ? [plain, decided, verdictLine(`v${i}`)] : [],
    )
    const restore = await submit(backupOf(lines), '?source=backup')
    await until(async () => (await restore.show()).progress.lines > 10)
    t.equal((await restore.post(`/import/${restore.importId}/cancel`)).status, 202)
    t.match(await restore.ended(), { status: 'canceled' })
    // The job counts as canceled as soon as it is asked for; its run ends a moment later.
    await until(async () => (await countStaged()) === 0)
    const stored = await traces(restore.orgId)
    t.ok(stored.length > 0 && stored.length < 600, `${stored.length} traces`)
    t.same(await asked(restore.orgId), stored)
  })

  await t.test('is judged by retention where no further run comes', async (t) => {
    const restore = await submit(backupOf([traceLine('a'), traceLine('b')]), '?source=backup')
    await restore.ended()
    const { orgId, importId } = restore
    await sql`delete from pgboss.job where name in ('evals.judge', 'violations.detect')`
    const todo = {
      links: [],
      retargets: [],
      scans: [],
      searched: [[restore.projectId, ['a', 'b']]],
    }
    await context.queue.transaction(sql, (tx: Transaction) =>
      stageChunk(tx, { orgId, importId }, 0, boxTodo(todo as never)),
    )
    await runDeleteExpired(service)
    t.same(await asked(orgId), ['a', 'b'])
    t.same(await asked(orgId, 'violations.detect'), ['a', 'b'])
    t.equal(await countStaged(), 0)
  })
})
