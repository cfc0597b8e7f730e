import { replayBilling } from '../../jobs/rules/demo/billing-history.ts'
import type { ApiClient } from '../api-client.ts'
import { findVersions } from './agents.ts'

/** Of the two regressions of the billing agent one is over. */
export async function resolveRegression(client: ApiClient) {
  const path = `/agents/${AGENT}/bisect`
  const { findings } = await client.get<{ findings: readonly Finding[] }>(path)
  const over = findings.find(
    ({ version_label, status }) => version_label === 'v2' && status === 'open',
  )
  const note = 'v3 took the change of the prompt back, and quality is what it was.'
  if (over) await client.post(`${path}/findings/${over.id}/resolve`, { note })
}

/** A check that fails, whose candidate is rejected, and one that passes, which nobody has decided on. */
export async function checkCandidates(client: ApiClient) {
  const versions = await findVersions(client, AGENT)
  const { regression_checks: done } = await client.get<ChecksAnswer>(
    `/regression-check?agent_name=${AGENT}`,
  )
  for (const { label, pr_context, decision } of CANDIDATES) {
    const candidate_manifest_id = versions.get(label)
    if (done.some((check) => check.candidate_manifest_id === candidate_manifest_id)) continue
    const check = await client.post<{ id?: string; job_id?: string; result?: object }>(
      '/regression-check',
      { agent_name: AGENT, candidate_manifest_id, pr_context, source: 'ci' },
    )
    if (decision && check?.id) {
      await client.post(`/regression-check/${check.id}/decision`, decision)
    }
  }
}

/** Credits of before v4 are made to fit: those of v1 and v3 by all rules, of v2 by the first one alone. */
export async function repairCredits(client: ApiClient) {
  const versions = await findVersions(client, AGENT)
  const new_manifest_id = versions.get('v6')
  for (const label of ['v1', 'v2', 'v3']) {
    const pair = { old_manifest_id: versions.get(label), new_manifest_id }
    const preview = await client.post<{ job_id: string }>('/repair/preview', pair)
    await client.waitForJob(preview?.job_id ?? '')
    const applied =
      label === 'v2'
        ? await client.post<{ job_id: string }>('/repair/apply-selective', {
            ...pair,
            approved_rule_indices: [0],
          })
        : await client.post<{ job_id: string }>('/repair/apply', pair)
    await client.waitForJob(applied?.job_id ?? '')
  }
}

/** A batch of which a runner, as anybody could write it, has done two thirds. */
export async function replaySome(client: ApiClient, now: Date) {
  const versions = await findVersions(client, AGENT)
  const find = async () => {
    const { batches } = await client.get<BatchesAnswer>(`/replay/batches?agent_name=${AGENT}`)
    return batches.find(({ note }) => note === NOTE)
  }
  if (!(await find())) {
    const made = await client.post<{ job_id: string }>('/replay/batches', {
      target_manifest_id: versions.get('v6'),
      trace_ids: REPLAYED_TRACES,
      note: NOTE,
    })
    await client.waitForJob(made?.job_id ?? '')
  }
  const batch = await find()
  const left = REPLAYED_COUNT - (batch ? batch.total - batch.counts.pending : 0)
  if (!batch || left <= 0) return
  const claim = { worker_id: 'sample-runner', batch_id: batch.id, max: left }
  const claimed = await client.post<{ tasks: readonly Task[] }>('/replay/tasks/claim', claim)
  for (const { id, trace_id, lease_token } of claimed?.tasks ?? []) {
    const result = resultOf(trace_id, now)
    await client.post(`/replay/tasks/${id}/submit`, { ...result, lease_token })
  }
}

function resultOf(traceId: string, now: Date) {
  const no = REPLAYED_TRACES.indexOf(traceId)
  if (no === REPLAYED_COUNT - 2) {
    return { status: 'failed', error: 'The sandbox of get_invoice did not answer within 60 s' }
  }
  if (no === REPLAYED_COUNT - 1) {
    return { status: 'skipped', error: 'The customer of this run is gone' }
  }
  return { status: 'completed', trace: replayBilling(traceId, no, now) }
}

const AGENT = 'billing-agent'
const NOTE = 'Does v6 do better where v4 was wrong?'
const NUMBERS = ['015', '018', '035', '038', '001', '003', '005', '007', '009', '011', '013', '017']
const REPLAYED_TRACES = NUMBERS.map((number) => `billing-v4-${number}`)
const REPLAYED_COUNT = 8
const REPO = { repo: 'example/billing-agent', branch: 'approvals' }
const CANDIDATES = [
  {
    label: 'v7',
    pr_context: { ...REPO, pr_number: 118, commit_sha: '5a0d9f1c' },
    decision: {
      human_decision: 'rejected',
      note: 'Payments are looked up in half of all runs. Keep list_payments.',
    },
  },
  {
    label: 'v8',
    pr_context: { ...REPO, branch: 'send-copies', pr_number: 121, commit_sha: 'c3e8807b' },
    decision: undefined,
  },
]

interface Finding {
  readonly id: string
  readonly version_label: string
  readonly status: string
}
interface ChecksAnswer {
  readonly regression_checks: readonly { readonly candidate_manifest_id: string }[]
}
interface BatchesAnswer {
  readonly batches: readonly {
    readonly id: string
    readonly note: string | null
    readonly total: number
    readonly counts: { readonly pending: number }
  }[]
}
interface Task {
  readonly id: string
  readonly trace_id: string
  readonly lease_token: string
}
