import { createHash, randomUUIDv7 } from 'node:crypto'
import { bisectRegression } from '../../jobs/bisect-regression.ts'
import type { Queue } from '../../jobs/queue.ts'
import { findSuspects, isRecovered, looksDue, prepareEpisodes } from '../../jobs/rules/bisect.ts'
import type { Episode, Suspect } from '../../jobs/rules/bisect.ts'
import { worstTraces } from '../../jobs/rules/metric-check.ts'
import { adjustForCount } from '../../jobs/rules/statistics.ts'
import type { Transaction } from '../../sql/db.ts'
import { announceFinding } from '../../sql/finding-events.ts'
import type { AgentKey } from '../../sql/manifests.ts'
import { listActivations, listSessions } from '../../sql/regression-episodes.ts'
import { insertFinding, listFindings, resolveFinding } from '../../sql/regression-findings.ts'
import type { FindingRow, Resolution } from '../../sql/regression-findings.ts'
import { lockSeries, updateSeries } from '../../sql/regression-series.ts'
import { handler } from '../handler.ts'
import { describeVersions, toEpisodes } from './episodes.ts'
import type { OrderedEpisode } from './episodes.ts'

export const bisectRegressionHandler = handler(bisectRegression, async (payload, run) => {
  const { sql, orgId, queue, now } = run
  const agent = { orgId, projectId: payload.project_id, agentName: payload.agent_name }
  const since = new Date(now().getTime() - WINDOW_MS)
  const activations = await listActivations(sql, agent, since)
  const fromOrdinal = activations[0]?.ordinal ?? 0
  const sessions = await listSessions(sql, agent, payload.metric, { fromOrdinal, since })
  const episodes = toEpisodes(activations, sessions)
  const tested = prepareEpisodes(episodes) as OrderedEpisode[]
  const suspects = findSuspects(tested, seedOf(tested))
  const newest = episodes.at(-1)
  await queue.transaction(sql, async (tx: Transaction) => {
    const bisection = { agent, metric: payload.metric, queue, at: now() }
    await lockSeries(tx, agent, payload.metric)
    const known = await listFindings(tx, agent, payload.metric)
    for (const finding of known) await settle(tx, bisection, finding, episodes)
    const qValues = adjustForCount(suspects.map(({ p_value }) => p_value))
    for (const [i, suspect] of suspects.entries()) {
      if (isKnown(suspect, tested, known)) continue
      await report(tx, bisection, { tested, suspect, q_value: qValues[i] ?? 1 })
    }
    await updateSeries(tx, agent, payload.metric, {
      ordinal: newest?.ordinal ?? 0,
      looks: newest ? looksDue(newest) : 0,
      versions: describeVersions(episodes),
      computed_at: now(),
    })
  })
  return { suspects: suspects.length }
})

/** Writes what was found out, and tells it where a version is to blame. */
async function report(
  tx: Transaction,
  { agent, metric, queue, at }: Bisection,
  found: { tested: readonly OrderedEpisode[]; suspect: Suspect; q_value: number },
) {
  const { tested, suspect, q_value } = found
  const [introducing, previous] = [tested[suspect.episode], tested[suspect.episode - 1]]
  if (!introducing) return
  const finding = {
    id: randomUUIDv7(),
    project_id: agent.projectId,
    agent_name: agent.agentName,
    metric,
    ordinal: introducing.ordinal,
    manifest_id: suspect.cause === 'version' ? introducing.manifest_id : null,
    version_label: introducing.version_label,
    previous_version_label: previous?.version_label ?? null,
    candidates: suspect.credible.flatMap((k) => tested[k]?.version_label ?? []),
    delta: suspect.delta,
    relative_delta: suspect.relative_delta,
    p_value: suspect.p_value,
    q_value,
    trace_sample_ids: worstTraces(suspect.affected),
    reference: suspect.reference,
    detected_at: at,
  }
  if (!(await insertFinding(tx, agent.orgId, finding))) return
  await announceFinding(tx, queue, agent.orgId, 'regression.detected', finding, at)
}

async function settle(
  tx: Transaction,
  { agent, queue, at }: Bisection,
  finding: FindingRow,
  episodes: readonly OrderedEpisode[],
) {
  if (finding.resolved_at) return
  const resolution = resolutionOf(finding, episodes)
  if (!resolution || !(await resolveFinding(tx, agent.orgId, finding.id, { resolution, at })))
    return
  await announceFinding(tx, queue, agent.orgId, 'regression.resolved', finding, at)
}

/** A version of before is back, or a later one is as good as the metric was. */
function resolutionOf(
  { ordinal, reference }: FindingRow,
  episodes: readonly OrderedEpisode[],
): Resolution | undefined {
  const newest = episodes.at(-1)
  if (!newest || newest.ordinal <= ordinal) return undefined
  const isOld = episodes.some(
    (episode) => episode.ordinal < ordinal && episode.manifest_hash === newest.manifest_hash,
  )
  if (isOld) return 'reverted'
  const [current] = prepareEpisodes([newest])
  return current && isRecovered(reference, current.sessions) ? 'recovered' : undefined
}

/** With further traces the change may seem to be at a neighbour of where it was found first. */
function isKnown(
  { episode, credible }: Suspect,
  tested: readonly OrderedEpisode[],
  known: readonly FindingRow[],
) {
  const places = [...credible, episode].flatMap((k) => tested[k]?.ordinal ?? [])
  return known.some(({ ordinal }) => places.includes(ordinal))
}

/** So that equal traces give equal permutations. */
function seedOf(episodes: readonly Episode[]) {
  const hash = createHash('sha256')
  for (const { manifest_id, sessions } of episodes) {
    hash.update(manifest_id)
    for (const { trace_id, value } of sessions) hash.update(`${trace_id}\0${value}\0`)
  }
  return hash.digest().readInt32BE()
}

const WINDOW_MS = 180 * 86_400_000

interface Bisection {
  readonly agent: AgentKey
  readonly metric: string
  readonly queue: Queue
  readonly at: Date
}
