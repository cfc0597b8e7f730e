import { setTimeout } from 'node:timers/promises'
import { makeBilling } from '../../jobs/rules/demo/billing-history.ts'
import type { DemoTrace } from '../../jobs/rules/demo/attempt.ts'
import { makeTriage } from '../../jobs/rules/demo/triage.ts'
import type { ApiClient } from '../api-client.ts'

/** Two more agents, one of which hands work to all others, with their recorded runs. */
export async function addAgents(client: ApiClient, now: Date) {
  const billing = makeBilling(now)
  for (const { manifests, traces } of billing.stages) {
    await registerManifests(client, manifests, { activate: true })
    await postTraces(client, traces)
    await findRegressions(client, 'billing-agent')
  }
  await registerManifests(client, billing.candidates, { draft: true })
  const triage = makeTriage(now)
  // Its manifest names one of the billing agent, which runs another one by now.
  await registerManifests(client, [triage.manifest], { activate: true })
  await postTraces(client, triage.traces)
}

/** Finds what the newest version, or one before it, does worse. */
async function findRegressions(client: ApiClient, agentName: string) {
  const looked = await client.post<{ job_id: string }>(`/agents/${agentName}/bisect`, {})
  await client.waitForJob(looked?.job_id ?? '')
}

/** Only what is not there yet: registered again, an older version would be the active one again. */
export async function registerManifests(
  client: ApiClient,
  manifests: readonly { readonly manifest_hash: string }[],
  options: object,
) {
  const known = (await listManifests(client)).map(({ manifest_hash }) => manifest_hash)
  for (const manifest of manifests) {
    if (known.includes(manifest.manifest_hash)) continue
    await client.post('/manifests', { ...manifest, ...options })
  }
}

export async function listManifests(client: ApiClient, agentName?: string) {
  const filter = agentName ? `&agent_name=${agentName}` : ''
  const { manifests } = await client.get<{ manifests: readonly ManifestAnswer[] }>(
    `/manifests?limit=500${filter}`,
  )
  return manifests
}

/** The ids of the versions of an agent by their labels, of which each is `v<N>`. */
export async function findVersions(client: ApiClient, agentName: string) {
  const manifests = await listManifests(client, agentName)
  return new Map(manifests.map(({ version_label, manifest_id }) => [version_label, manifest_id]))
}

/** Waits until every trace is judged. Returns how many there are of each verdict. */
export async function awaitVerdicts(client: ApiClient) {
  for (;;) {
    const { by_verdict: verdicts } = await client.get<StatsAnswer>('/traces/stats')
    if (!verdicts['none']) return verdicts
    await setTimeout(POLL_MS)
  }
}

/** Those that are there already are skipped. */
async function postTraces(client: ApiClient, traces: readonly DemoTrace[]) {
  for (let at = 0; at < traces.length; at += TRACES_AT_ONCE) {
    await client.post('/traces/batch', { traces: traces.slice(at, at + TRACES_AT_ONCE) })
  }
  await awaitVerdicts(client)
}

const POLL_MS = 200
const TRACES_AT_ONCE = 150

interface ManifestAnswer {
  readonly manifest_id: string
  readonly manifest_hash: string
  readonly version_label: string
  readonly traces_count: number
}
interface StatsAnswer {
  readonly by_verdict: Readonly<Record<string, number>>
}
