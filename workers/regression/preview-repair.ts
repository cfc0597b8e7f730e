import { previewRepair } from '../../jobs/preview-repair.ts'
import { openPreview } from '../../jobs/rules/manifests/repair-preview.ts'
import { listRepairRules } from '../../jobs/rules/manifests/repair-rules.ts'
import { findPositionBefore, listClosedTraces } from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceFilter } from '../../sql/manifests/closed-traces.ts'
import { findManifest } from '../../sql/manifests/manifests.ts'
import { repairTraces } from '../examination/examiner.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { readCompared } from './compared-manifests.ts'
import type { Compared } from './compared-manifests.ts'

/** Repairs the newest traces of a manifest by all rules and keeps nothing of it but what is shown. */
export const previewRepairHandler = handler(
  previewRepair,
  async ({ old_manifest_id, new_manifest_id, sample_size }, run) => {
    const old = await findManifest(run.sql, run.orgId, old_manifest_id)
    if (!old) throw new GiveUp('manifest_gone', 'A manifest has been deleted')
    const compared = await readCompared(run, old_manifest_id, new_manifest_id)
    const rules = listRepairRules(compared.manifest, compared.target)
    const preview = openPreview(rules, sample_size)
    const filter = {
      orgId: run.orgId,
      projectId: old.project_id,
      agentName: old.agent_name,
      manifestId: old.id,
      silentTools: compared.silentTools,
    }
    if (rules.length > 0) await tryNewest(run, compared, filter, preview)
    return preview.result()
  },
)

async function tryNewest(
  run: Run,
  { manifest, target }: Compared,
  filter: ClosedTraceFilter,
  preview: ReturnType<typeof openPreview>,
) {
  let position = await findPositionBefore(run.sql, filter, SAMPLE)
  for (let left = SAMPLE; left > 0;) {
    run.signal.throwIfAborted()
    const page = await listClosedTraces(run.sql, filter, position)
    const traces = page.slice(0, left)
    if (traces.length === 0) return
    const request = { manifest, target, approved: null, wants: 'preview', traces } as const
    const repairs = await repairTraces(run, request)
    traces.forEach(({ trace_id }, i) => {
      const repair = repairs[i]
      if (!repair) throw new TypeError('A trace was not repaired')
      preview.add(trace_id, repair)
    })
    left -= traces.length
    position = traces.at(-1)
    run.progress({ done: SAMPLE - left, unit: 'traces' })
  }
}

/** Traces that are tried. */
const SAMPLE = 1000
