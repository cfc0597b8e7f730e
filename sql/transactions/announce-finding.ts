import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import type { NewFinding } from '../regression/findings.ts'
import { emitEvent } from './emit-event.ts'

/** Emits the event of a finding in the transaction that changes it. A drift blames no version and has no event. */
export async function announceFinding(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  event: 'regression.detected' | 'regression.resolved',
  finding: NewFinding,
  at: Date,
) {
  if (finding.manifest_id === null) return
  const { manifest_id, agent_name, metric, version_label, previous_version_label } = finding
  const { delta, trace_sample_ids } = finding
  const version = { manifest_id, version_label, previous_version_label }
  const data = { agent_name, ...version, metric, delta, trace_sample_ids }
  await emitEvent(tx, queue, orgId, event, data, at)
}
