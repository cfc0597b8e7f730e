import type { Queue } from '../../jobs/queue.ts'
import { traceBatches } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../core/db.ts'
import { deleteManifests, listDemoTraces } from '../demo/demo-agents.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { removeTraces } from './remove-traces.ts'

/**
 * Takes an agent out of the organization all of whose rows are the demo's, and which the caller has locked.
 * Returns what was there.
 */
export async function removeDemoAgent(tx: Transaction, queue: Queue, agent: AgentKey) {
  const traceIds = await listDemoTraces(tx, agent)
  for (const batch of traceBatches(traceIds)) await removeTraces(tx, queue, agent, batch)
  return { traces: traceIds.length, manifests: await deleteManifests(tx, agent) }
}
