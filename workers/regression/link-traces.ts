import { requestDetection } from '../../jobs/detect-violations.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import { linkTraces } from '../../jobs/link-traces.ts'
import { linkNamedTraces } from '../../sql/manifest-links.ts'
import { findManifest } from '../../sql/manifests.ts'
import { transactionalHandler } from '../handler.ts'

/** A batch at a time; what is left is for the next job, which this one asks for. */
export const linkTracesHandler = transactionalHandler(
  linkTraces,
  async ({ manifest_id }, { orgId, queue }, tx) => {
    const manifest = await findManifest(tx, orgId, manifest_id)
    if (!manifest) return
    const { project_id: projectId, agent_name: agentName } = manifest
    const linked = await linkNamedTraces(tx, { orgId, projectId, agentName }, manifest, BATCH)
    await requestJudgement(queue, tx, orgId, projectId, linked)
    await requestDetection(queue, tx, orgId, projectId, linked)
    if (linked.length === BATCH) {
      await queue.enqueue(tx, linkTraces, { manifest_id }, { orgId, key: manifest_id })
    }
  },
)

const BATCH = 2000
