import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { deleteManifests, listDemoTraces } from '../demo/demo-agents.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { removeTrace } from './remove-trace.ts'

/**
 * Takes an agent out of the organization all of whose rows are the demo's, and which the caller has locked.
 * Returns what was there.
 */
export async function removeDemoAgent(tx: Transaction, queue: Queue, agent: AgentKey) {
  const traceIds = await listDemoTraces(tx, agent)
  for (const trace_id of traceIds) {
    await removeTrace(tx, queue, { org_id: agent.orgId, project_id: agent.projectId, trace_id })
  }
  return { traces: traceIds.length, manifests: await deleteManifests(tx, agent) }
}
