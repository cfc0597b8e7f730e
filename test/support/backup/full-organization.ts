import type { Service } from '../service.ts'
import { settled } from '../settled.ts'
import { recordAgentHistory } from './agent-history.ts'
import { findRegression } from './found-regression.ts'
import { makeDatasets } from './made-datasets.ts'
import { openMaker } from './maker.ts'
import { oddTraces, plainTraces } from './sent-traces.ts'
import { replayTraces } from './replayed-traces.ts'
import { setRules } from './set-rules.ts'
import { makeSkills } from './made-skills.ts'

/**
 * Gives an organization rows of every kind that a backup holds, through the interface and the workers:
 * three projects, versions of agents with their checks and repairs, skills with files, rules, traces with
 * odd texts, duplicates, corrections and losses, datasets, replays. The service runs all workers.
 * @param traces besides about 200 that the rest needs
 */
export async function fillOrganization(
  service: Service,
  org: { readonly orgId: string; readonly key: string },
  { traces = 300 }: { traces?: number } = {},
) {
  const maker = openMaker(service, org)
  const workspace_id = await maker.id('/workspaces', { name: 'second "workspace"' })
  await maker.id('/projects', { name: LAB, workspace_id })
  await maker.id('/projects', { name: PAYMENTS, workspace_id })
  await setRules(maker, LAB)
  const skill = await makeSkills(maker, LAB)
  const history = await recordAgentHistory(maker)
  await findRegression(maker, PAYMENTS)
  await maker.importLines(oddTraces(skill))
  for (const [i, project] of [LAB, PAYMENTS, 'default'].entries()) {
    const sent = plainTraces(Math.round(traces / 3), i, project)
    await maker.post('/traces/batch', { traces: sent })
  }
  await settled(service.sql, org.orgId)
  await makeDatasets(maker, history)
  await replayTraces(maker, history)
  await settled(service.sql, org.orgId)
  return history
}

export const LAB = 'lab\u{1F9EA} "x"'
export const PAYMENTS = 'Payments'
