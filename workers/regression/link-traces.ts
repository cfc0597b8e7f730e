import { linkTraces } from '../../jobs/link-traces.ts'
import { findManifest } from '../../sql/manifests/manifests.ts'
import { linkEarlierTraces } from '../../sql/transactions/link-traces.ts'
import { transactionalHandler } from '../runtime/handler.ts'

/** Links one batch. What is left is for the next job, which this one enqueues. */
export const linkTracesHandler = transactionalHandler(
  linkTraces,
  async ({ manifest_id }, { orgId, queue }, tx) => {
    const manifest = await findManifest(tx, orgId, manifest_id)
    if (!manifest) return
    const agent = { orgId, projectId: manifest.project_id, agentName: manifest.agent_name }
    await linkEarlierTraces(tx, queue, agent, manifest, BATCH)
  },
)

const BATCH = 2000
