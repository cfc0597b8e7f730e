import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { findModelChange, rehearse, unreplayed } from '../../jobs/rules/regression/call-replay.ts'
import type { CallReplay } from '../../jobs/rules/regression/call-replay.ts'
import { diffManifests } from '../../jobs/rules/manifests/manifest-diff.ts'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import { oneOf, shape } from '../../jobs/shape.ts'
import { findStoredPair } from '../../sql/manifests/manifest-components.ts'
import { listNewestContents } from '../../sql/manifests/newest-contents.ts'
import { updateCallReplay } from '../../sql/regression/checks.ts'
import type { CheckRow } from '../../sql/regression/checks.ts'
import type { Call } from '../endpoint.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { callReplayBody } from './check-body.ts'
import { checkPath, findVisibleCheck } from './check.ts'

export const replayCalls = endpoint('POST', '/regression-check/{check_id}/call-replay', {
  summary: 'Ask the candidate’s model the recorded questions again',
  description:
    'With `mode=mock`, a rehearsal on the newest traces of the baseline: which calls could be asked again. Nothing is sent. `mode=real` is unsupported, because no provider is configured.',
  access: 'key',
  params: checkPath,
  query: shape({}, { mode: oneOf('mock', 'real').default('mock') }),
  answers: { 200: callReplayBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, query } = call
    const check = await findVisibleCheck(context, principal, params.check_id)
    const replayed = await replay(call, check, query.mode)
    await updateCallReplay(context.sql, principal.orgId, check.id, replayed)
    return replayed
  },
})

async function replay(
  { context, principal }: Pick<Call<unknown, unknown, unknown>, 'context' | 'principal'>,
  check: CheckRow,
  mode: CallReplay['mode'],
): Promise<CallReplay> {
  const { baseline_manifest_id: beforeId, candidate_manifest_id: afterId } = check
  const { orgId } = principal
  const { before, after } = await findStoredPair(context.sql, orgId, beforeId ?? afterId, afterId)
  const model = before && after && findModelChange(diffManifests(before, after), before, after)
  if (!before || !model) return unreplayed('no_model_change', mode)
  if (mode === 'real') return unreplayed('unsupported', mode, model)
  const end = check.created_at
  const start = new Date(end.getTime() - check.trace_window_days * DAY_MS)
  const agent = {
    orgId: principal.orgId,
    projectId: check.project_id,
    agentName: check.agent_name,
  }
  const wanted = { window: [start, end], limit: TRACES } as const
  const rows = await listNewestContents(context.sql, agent, before.id, wanted)
  const pause = openTurns()
  const traces = []
  for (const { content, ...row } of rows) {
    traces.push({ ...row, ...(await decodeContentInSteps(content, pause)) })
    await pause()
  }
  return rehearse(traces, model)
}

const TRACES = 20
