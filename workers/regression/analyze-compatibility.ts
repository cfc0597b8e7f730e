import { analyzeCompatibility } from '../../jobs/analyze-compatibility.ts'
import { planTransition, silentTools } from '../../jobs/rules/compat-plan.ts'
import { emptyTally, tallyDecision } from '../../jobs/rules/compat-tally.ts'
import type { CompatTally } from '../../jobs/rules/compat-tally.ts'
import type { CompatDecision } from '../../jobs/rules/compat-decision.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/closed-traces.ts'
import type { ClosedTraceFilter, ClosedTraceRow } from '../../sql/closed-traces.ts'
import { upsertEpisodes } from '../../sql/compat-episodes.ts'
import type { Episode } from '../../sql/compat-episodes.ts'
import { completeReport, findReport } from '../../sql/compat-reports.ts'
import type { CompatReportRow } from '../../sql/compat-reports.ts'
import { listStoredManifests } from '../../sql/manifests.ts'
import { GiveUp } from '../give-up.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'
import { examine } from './examiner.ts'
import type { ExaminationRequest } from './examiner.ts'

/**
 * Page by page: one is read while the one before is examined and the one before that is written. The
 * checkpoint holds the last page written and the tally of all until then.
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

async function analyzePages(run: Run, report: CompatReportRow, matching: ClosedTraceFilter) {
  const total = await countClosedTraces(run.sql, matching)
  const pair = await readPair(run, report)
  const filter = { ...matching, silentTools: silentToolsOf(pair) }
  const { tally, after } = readCheckpoint(run.checkpointed)
  let writing: Promise<void> = Promise.resolve()
  let reading = listClosedTraces(run.sql, filter, after)
  for (;;) {
    const page = await reading
    const last = page.at(-1)
    if (!last) break
    run.signal.throwIfAborted()
    reading = awaitedLater(listClosedTraces(run.sql, filter, last))
    const examined = await examine({ ...pair, traces: page })
    const episodes = page.map((trace, i) => episodeOf(trace, examined[i]?.compatibility))
    for (const { trace_id, decision } of episodes) tallyDecision(tally, trace_id, decision)
    await writing
    writing = awaitedLater(writePage(run, report, episodes, structuredClone(tally), total))
  }
  await writing
  return tally
}

/** So that nobody takes a failure for unhandled before the promise is awaited. */
function awaitedLater<T>(promise: Promise<T>) {
  promise.catch(() => undefined)
  return promise
}

async function readPair(
  { sql, orgId }: Run,
  { old_manifest_id, new_manifest_id }: CompatReportRow,
): Promise<Pair> {
  const stored = await listStoredManifests(sql, orgId, [old_manifest_id, new_manifest_id])
  const find = (id: string) => stored.find((manifest) => manifest.id === id) ?? null
  return { manifest: find(old_manifest_id), target: find(new_manifest_id), wants: 'compatibility' }
}

/** Nothing is validated to find them, so no schema is compiled. */
function silentToolsOf({ manifest, target }: Pair) {
  return manifest && target && silentTools(planTransition(manifest, target, () => () => undefined))
}

async function writePage(
  run: Run,
  report: CompatReportRow,
  episodes: readonly Episode[],
  tally: CompatTally,
  total: number,
) {
  const { started_at, trace_id } = episodes.at(-1) as Episode
  await run.sql.begin(async (tx) => {
    await upsertEpisodes(tx, run.orgId, report.id, episodes)
    const progress = { done: tally.total_episodes, total, unit: 'traces' }
    await run.checkpoint(tx, progress, { after: { started_at, trace_id }, tally } satisfies Cursor)
  })
}

function episodeOf(
  { trace_id, started_at }: ClosedTraceRow,
  decision: CompatDecision | null | undefined,
): Episode {
  if (!decision) throw new TypeError('A trace was not compared')
  return { trace_id, started_at, decision }
}

/** A checkpoint has been JSON: its time is a text. */
function readCheckpoint(checkpointed: unknown) {
  if (!checkpointed) return { tally: emptyTally(), after: undefined }
  const { tally, after } = checkpointed as Cursor
  return { tally, after: { ...after, started_at: new Date(after.started_at) } }
}

function summarize({ total_episodes, keep, repair, replay, drop }: CompatTally) {
  return { total_episodes, keep, repair, replay, drop }
}

type Pair = Omit<ExaminationRequest, 'traces'>
interface Cursor {
  after: { started_at: Date; trace_id: string }
  tally: CompatTally
}
