import { checkRegression } from '../../jobs/check-regression.ts'
import type { Payload } from '../../jobs/job.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { firstRunFindings } from '../../jobs/rules/regression/check-findings.ts'
import type { CheckFindings } from '../../jobs/rules/regression/check-findings.ts'
import { diffManifests } from '../../jobs/rules/manifests/manifest-diff.ts'
import { reportFindings } from '../../jobs/rules/regression/check-report.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findStoredPair } from '../../sql/manifests/manifest-components.ts'
import { findManifest } from '../../sql/manifests/manifests.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { completeCheck, registerBaseline } from '../../sql/regression/checks.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { findDownstream } from './downstream.ts'
import { measureMetrics } from './measure-metrics.ts'
import { walkBaseline } from './walk-baseline.ts'
import type { CheckRun } from './walk-baseline.ts'

export const checkRegressionHandler = handler(checkRegression, async (payload, run) => {
  const findings = await check(payload, run)
  if (payload.check_id === undefined) return { findings }
  const checkId = payload.check_id
  await run.sql.begin(async (tx: Transaction) => {
    await completeCheck(tx, run.orgId, checkId, findings)
    if (findings.verdict !== 'first_run') return
    await registerBaseline(tx, agentOf(payload, run), {
      manifestId: payload.candidate_manifest_id,
      checkId,
    })
  })
  return { verdict: findings.verdict }
})

async function check(payload: CheckPayload, run: CheckRun): Promise<CheckFindings> {
  const { baseline_manifest_id: baselineId, candidate_manifest_id: candidateId } = payload
  if (baselineId === undefined) return firstRunFindings()
  const agent = agentOf(payload, run)
  const { before, after } = await findStoredPair(run.sql, run.orgId, baselineId, candidateId)
  const candidate = await findManifest(run.sql, run.orgId, candidateId)
  if (!before || !after || !candidate) throw new GiveUp('manifest_gone', 'A manifest is gone')
  const from = new Date(payload.until.getTime() - payload.trace_window_days * DAY_MS)
  const window = [from, payload.until] as const
  const changes = diffManifests(before, after)
  const walked = await walkBaseline(run, agent, { before, after, window, changes })
  const { metrics, fingerprint } = await measureMetrics(run.sql, agent, { before, after, window })
  const downstream = await findDownstream(run.sql, agent, { candidate, changes, walked })
  return reportFindings({ changes, walked, metrics, downstream, fingerprint })
}

function agentOf({ project_id, agent_name }: CheckPayload, { orgId }: Run): AgentKey {
  return { orgId, projectId: project_id, agentName: agent_name }
}

type CheckPayload = Payload<typeof checkRegression>
