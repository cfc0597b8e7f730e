import { createHash, randomUUIDv7 } from 'node:crypto'
import { bisectRegression } from '../../jobs/bisect-regression.ts'
import type { Queue } from '../../jobs/queue.ts'
import {
  findSuspects,
  isRecovered,
  looksDue,
  prepareActivations,
} from '../../jobs/rules/regression/bisect.ts'
import type { Activation, Suspect } from '../../jobs/rules/regression/bisect.ts'
import { worstTraces } from '../../jobs/rules/regression/metric-check.ts'
import { adjustForCount } from '../../jobs/rules/regression/statistics.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { announceFinding } from '../../sql/transactions/announce-finding.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { listActivations, listSessions } from '../../sql/regression/activations.ts'
import { insertFinding, listFindings, resolveFinding } from '../../sql/regression/findings.ts'
import type { FindingRow, Resolution } from '../../sql/regression/findings.ts'
import { lockSeries, updateSeries } from '../../sql/regression/series.ts'
import { handler } from '../runtime/handler.ts'
import { bisectedSince, describeVersions, toActivations } from './activations.ts'
import type { OrderedActivation } from './activations.ts'

export const bisectRegressionHandler = handler(bisectRegression, async (payload, run) => {
  const { sql, orgId, queue, now } = run
  const agent = { orgId, projectId: payload.project_id, agentName: payload.agent_name }
  const since = bisectedSince(now())
  const rows = await listActivations(sql, agent, since)
  const fromOrdinal = rows[0]?.ordinal ?? 0
  const sessions = await listSessions(sql, agent, payload.metric, { fromOrdinal, since })
  const activations = toActivations(rows, sessions)
  const tested = prepareActivations(activations)
  const suspects = findSuspects(tested, seedOf(tested))
  const newest = activations.at(-1)
  await queue.transaction(sql, async (tx: Transaction) => {
    const bisection = { agent, metric: payload.metric, queue, at: now() }
    await lockSeries(tx, agent, payload.metric)
    const known = await listFindings(tx, agent, payload.metric)
    for (const finding of known) await settle(tx, bisection, finding, activations)
    const qValues = adjustForCount(suspects.map(({ p_value }) => p_value))
    for (const [i, suspect] of suspects.entries()) {
      if (isKnown(suspect, tested, known)) continue
      await report(tx, bisection, { tested, suspect, q_value: qValues[i] ?? 1 })
    }
    await updateSeries(tx, agent, payload.metric, {
      ordinal: newest?.ordinal ?? 0,
      looks: newest ? looksDue(newest) : 0,
      versions: describeVersions(activations),
      computed_at: now(),
    })
  })
  return { suspects: suspects.length }
})

/** Stores a finding, and announces it when a version is to blame. */
async function report(
  tx: Transaction,
  { agent, metric, queue, at }: Bisection,
  found: { tested: readonly OrderedActivation[]; suspect: Suspect; q_value: number },
) {
  const { tested, suspect, q_value } = found
  const [introducing, previous] = [tested[suspect.activation], tested[suspect.activation - 1]]
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
  activations: readonly OrderedActivation[],
) {
  if (finding.resolved_at) return
  const resolution = resolutionOf(finding, activations)
  if (!resolution || !(await resolveFinding(tx, agent.orgId, finding.id, { resolution, at })))
    return
  await announceFinding(tx, queue, agent.orgId, 'regression.resolved', finding, at)
}

/** A finding is resolved when an earlier version is active again, or a later one is as good as before. */
function resolutionOf(
  { ordinal, reference }: FindingRow,
  activations: readonly OrderedActivation[],
): Resolution | undefined {
  const newest = activations.at(-1)
  if (!newest || newest.ordinal <= ordinal) return undefined
  const isOld = activations.some(
    (activation) =>
      activation.ordinal < ordinal && activation.manifest_hash === newest.manifest_hash,
  )
  if (isOld) return 'reverted'
  const [current] = prepareActivations([newest])
  return current && isRecovered(reference, current.sessions) ? 'recovered' : undefined
}

/** With further traces the change may seem to be at a neighbour of where it was found first. */
function isKnown(
  { activation, credible }: Suspect,
  tested: readonly OrderedActivation[],
  known: readonly FindingRow[],
) {
  const ordinals = [...credible, activation].flatMap((k) => tested[k]?.ordinal ?? [])
  return known.some(({ ordinal }) => ordinals.includes(ordinal))
}

/** The seed depends on the traces alone, so that equal traces give equal permutations. */
function seedOf(activations: readonly Activation[]) {
  const hash = createHash('sha256')
  for (const { manifest_id, sessions } of activations) {
    hash.update(manifest_id)
    for (const { trace_id, value } of sessions) hash.update(`${trace_id}\0${value}\0`)
  }
  return hash.digest().readInt32BE()
}

interface Bisection {
  readonly agent: AgentKey
  readonly metric: string
  readonly queue: Queue
  readonly at: Date
}
