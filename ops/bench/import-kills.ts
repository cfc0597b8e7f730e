import { randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from '../../sql/core/db.ts'
import { report } from './figures.ts'
import { findImport, importEnded, importFile, upload } from './imported-files.ts'
import type { ImportState } from './imported-files.ts'
import { makeOrganization } from './prepare.ts'
import type { Bench } from './prepare.ts'
import type { Processes } from './service-processes.ts'

/** Two organizations import the same file, one of them with a worker that is killed again and again. */
export async function measureKills(
  { sql }: Bench,
  processes: Processes,
  file: string,
  kills: number,
) {
  const api = await processes.startApi()
  await processes.startWorkers('maintenance')
  const { key } = await makeOrganization(sql)
  const importId = await upload(api, key, file)
  for (let kill = 1; kill <= kills; kill++) {
    const before = await findImport(sql, importId)
    const worker = await processes.startWorkers('import')
    while (!isFurther(await findImport(sql, importId), before)) await setTimeout(10)
    await setTimeout(randomInt(RUN_MS))
    worker.child.kill('SIGKILL')
    const { lines, assembled, finished } = await findImport(sql, importId)
    process.stdout.write(`kill ${kill} after line ${lines}, ${assembled} traces put together\n`)
    if (finished) throw new Error('The import was done before its kills: use a larger file')
  }
  await processes.startWorkers('import')
  await importEnded(sql, importId)
  await importFile(sql, api, (await makeOrganization(sql)).key, file)
  await processes.startWorkers('evals')
  while (await hasUnjudged(sql)) await setTimeout(500)
  const states = await sql`
    select i.imported_count, i.skipped_count, i.error_count, i.scores_imported, i.lines_done,
      (select md5(string_agg(concat_ws(' ', trace_id, agent_name, task_id, started_at, content_hash,
        md5(content)), ',' order by trace_id)) from traces t where t.org_id = i.org_id) as traces,
      (select md5(string_agg(concat_ws(' ', trace_id, name, value), ',' order by trace_id, name))
        from eval_scores s where s.org_id = i.org_id) as scores,
      (select md5(string_agg(concat_ws(' ', trace_id, verdict, quality_avg), ',' order by trace_id))
        from verdicts v where v.org_id = i.org_id) as verdicts
    from imports i order by i.created_at`
  const [killed, undisturbed] = states.map((state) => JSON.stringify(state))
  process.stdout.write(`${killed}\n${undisturbed}\n`)
  if (killed !== undisturbed) throw new Error('Traces, scores or verdicts are DIFFERENT')
  report({
    what: 'SIGKILLs in an import',
    ratio: null,
    figures: `${kills}: traces, scores and verdicts equal to those of an undisturbed import`,
  })
}

async function hasUnjudged(sql: Sql) {
  const unjudged = await sql`
    select from traces t where not exists (
      select from verdicts v
      where v.org_id = t.org_id and v.project_id = t.project_id and v.trace_id = t.trace_id)
    limit 1`
  return unjudged.length > 0
}

function isFurther(now: ImportState, before: ImportState) {
  return now.lines > before.lines || now.assembled > before.assembled || now.finished
}

/** A worker works at most so long behind its first chunk before it is killed. */
const RUN_MS = 1500
