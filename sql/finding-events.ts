import type { Queue } from '../jobs/queue.ts'
import type { Transaction } from './db.ts'
import { emitEvent } from './deliveries.ts'
import type { NewFinding } from './regression-findings.ts'

/** Tells of a finding in the transaction that changes it; of a drift, which blames no version, nothing. */
export async function announceFinding(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  event: 'regression.detected' | 'regression.resolved',
  finding: NewFinding,
  at: Date,
) {
  const { manifest_id, agent_name, metric, version_label, previous_version_label } = finding
  if (manifest_id === null) return
  const { delta, trace_sample_ids } = finding
  const version = { manifest_id, version_label, previous_version_label }
  await emitEvent(
    tx,
    queue,
    orgId,
    event,
    { agent_name, ...version, metric, delta, trace_sample_ids },
    at,
  )
}
