import { analyzeCompatibility } from '../../jobs/analyze-compatibility.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import { emptyTally, tallyDecision } from '../../jobs/rules/manifests/compat-tally.ts'
import type { CompatTally } from '../../jobs/rules/manifests/compat-tally.ts'
import type { CompatDecision } from '../../jobs/rules/manifests/compat-decision.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceFilter, ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import { upsertEpisodes } from '../../sql/manifests/compat-episodes.ts'
import type { Episode } from '../../sql/manifests/compat-episodes.ts'
import { completeReport, findReport } from '../../sql/manifests/compat-reports.ts'
import type { CompatReportRow } from '../../sql/manifests/compat-reports.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { handler } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'
import { examine } from '../examination/examiner.ts'
import { readCompared } from './compared-manifests.ts'

/**
 * Works page by page: a page is read while the one before is examined and the one before that is
 * written. The checkpoint holds the end of the last page written and the tally of all pages up to it.
 */
export const analyzeCompatibilityHandler = handler(
  analyzeCompatibility,
  async ({ report_id }, run) => {
    const report = await findReport(run.sql, run.orgId, report_id)
    if (!report) throw new GiveUp('report_gone', 'The report has been deleted')
    if (report.tally) return summarize(report.tally)
    const filter: ClosedTraceFilter = {
      orgId: run.orgId,
      projectId: report.project_id,
      agentName: report.agent_name,
      manifestId: report.old_manifest_id,
      window: [report.window_start, report.window_end],
    }
    const tally = await analyzePages(run, report, filter)
    await completeReport(run.sql, run.orgId, report.id, tally)
    return summarize(tally)
  },
)

async function analyzePages(
  run: ResumableRun<Cursor>,
  report: CompatReportRow,
  matching: ClosedTraceFilter,
) {
  const total = await countClosedTraces(run.sql, matching)
  const { old_manifest_id, new_manifest_id } = report
  const { silentTools, ...pair } = await readCompared(run, old_manifest_id, new_manifest_id)
  const filter = { ...matching, silentTools }
  const { tally, after } = run.checkpointed ?? { tally: emptyTally(), after: undefined }
  let writing: Promise<void> = Promise.resolve()
  let reading = listClosedTraces(run.sql, filter, after)
  for (;;) {
    const page = await reading
    const last = page.at(-1)
    if (!last) break
    run.signal.throwIfAborted()
    reading = awaitedLater(listClosedTraces(run.sql, filter, last))
    const examined = await examine(run, { ...pair, wants: 'compatibility', traces: page })
    const episodes = page.map((trace, i) => episodeOf(trace, examined[i]?.compatibility))
    for (const { trace_id, decision } of episodes) tallyDecision(tally, trace_id, decision)
    await writing
    const { started_at, trace_id } = last
    const checkpoint = { after: { started_at, trace_id }, tally: structuredClone(tally) }
    writing = awaitedLater(writePage(run, report, episodes, checkpoint, total))
  }
  await writing
  return tally
}

async function writePage(
  run: ResumableRun<Cursor>,
  report: CompatReportRow,
  episodes: readonly Episode[],
  checkpoint: Cursor,
  total: number,
) {
  await run.sql.begin(async (tx) => {
    await upsertEpisodes(tx, run.orgId, report.id, episodes)
    const progress = { done: checkpoint.tally.total_episodes, total, unit: 'traces' }
    await run.checkpoint(tx, progress, checkpoint)
  })
}

function episodeOf(
  { trace_id, started_at }: ClosedTraceRow,
  decision: CompatDecision | null | undefined,
): Episode {
  if (!decision) throw new TypeError('A trace was not compared')
  return { trace_id, started_at, decision }
}

function summarize({ total_episodes, keep, repair, replay, drop }: CompatTally) {
  return { total_episodes, keep, repair, replay, drop }
}

type Cursor = Checkpoint<typeof analyzeCompatibility>
