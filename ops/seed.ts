import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { VERDICTS } from '../jobs/rules/core/verdicts.ts'
import { openApiClient } from './api-client.ts'
import type { ApiClient } from './api-client.ts'
import type { Config } from './config.ts'
import { makeDemo } from '../jobs/rules/demo/traces.ts'
import type { FirstOrganization } from './first-organization.ts'
import { addAgents, awaitVerdicts, listManifests, registerManifests } from './seed/agents.ts'
import { checkCandidates, repairCredits, replaySome, resolveRegression } from './seed/changes.ts'
import { buildMore, findDataset, makeDataset } from './seed/datasets.ts'
import type { DatasetAnswer } from './seed/datasets.ts'
import { storeDelivered } from './seed/deliveries.ts'
import { importLines, importWithLosses } from './seed/imports.ts'
import { addSkills } from './seed/library.ts'
import { makeKeys, sendTest, setPolicies, setWebhook } from './seed/organization.ts'
import { annotate } from './seed/people.ts'

export interface Seeding {
  readonly config: Config
  readonly organization: FirstOrganization
  /** Address of the API, which must be up: the demo comes in as any client's data would. */
  readonly address: string
  /** Connection string of the database, for what no client can do. */
  readonly url: string
  readonly say: Say
  readonly end: AbortSignal
}

export interface Seeded {
  /** The dataset to show, if there is one. */
  readonly dataset: DatasetAnswer | undefined
  /** Adds what takes longer and need not be there before the first look. */
  readonly finish: () => Promise<void>
}

/**
 * Fills the first organization with sample data when SEED says so; by default when this start made it
 * in an embedded database. Every step can be repeated without harm, so that a seeding that was cut
 * short is finished by the next start.
 */
export async function seedWhenWanted(seeding: Seeding): Promise<Seeded> {
  const { config, organization, url, say, end } = seeding
  const { key } = organization
  const unfinished = join(config.DATA_DIR, 'seeding')
  const wanted = config.SEED
    ? config.SEED === 'demo'
    : !config.DATABASE_URL && (organization.created || existsSync(unfinished))
  if (key === undefined) {
    if (config.SEED === 'demo')
      say('No sample data: the key of the first organization is not known.')
    return { dataset: undefined, finish: async () => {} }
  }
  const client = openApiClient(seeding.address, key, end)
  const now = new Date()
  const rest = { client, stored: { url, key }, now, say }
  async function attempt(steps: () => Promise<void>) {
    try {
      await steps()
      return true
    } catch (error) {
      end.throwIfAborted()
      say(`The sample data is not complete (${messageOf(error)}); the next start goes on.`)
      return false
    }
  }
  if (wanted) writeFileSync(unfinished, '')
  const begun = wanted && (await attempt(() => seed(client, now, say)))
  return {
    // Only the screen lacks something when the API cannot tell.
    dataset: await findDataset(client, DATASETS[0].name).catch(() => undefined),
    async finish() {
      if (begun && (await attempt(() => seedRest(rest)))) rmSync(unfinished)
    },
  }
}

async function seed(client: ApiClient, now: Date, say: Say) {
  const { manifests, traces, scores } = makeDemo(now)
  await importTraces(client, traces, say)
  await pushScores(client, scores, say)
  await tellVerdicts(client, say)
  for (const dataset of DATASETS) await buildDataset(client, dataset, say)
  await registerManifests(client, manifests, { activate: true })
  await awaitTies(client, traces.length)
  const [newer, older] = await listVersions(client)
  await compareVersions(client, { newer, older }, say)
  await makeReplayBatch(client, { newer, older }, say)
}

/** Something for every page of the console. What is announced by webhooks comes after their address. */
async function seedRest({ client, stored, now, say }: Rest) {
  say('More sample data is coming, for each page of the console.')
  await setWebhook(client)
  await makeKeys(client, now)
  await setPolicies(client)
  await addAgents(client, now)
  await addSkills(client, now)
  await annotate(client)
  await resolveRegression(client)
  await checkCandidates(client)
  await repairCredits(client)
  await buildMore(client)
  await replaySome(client, now)
  await importWithLosses(client, now)
  await sendTest(client)
  await storeDelivered(client, stored)
  say('The sample data is complete.')
}

async function importTraces(client: ApiClient, traces: readonly object[], say: Say) {
  const lines = traces.map((trace) => JSON.stringify(trace)).join('\n')
  say(`Importing ${traces.length} sample traces of two agents (${sizeOf(lines.length)}).`)
  const done = await importLines(client, '/import/jsonl', lines)
  say(`${done.imported_count} traces imported, ${done.skipped_count} were there already.`)
}

/** What is scored again by the same evaluators is updated. */
async function pushScores(client: ApiClient, scores: readonly object[], say: Say) {
  const pushed = await client.post<ScoresAnswer>('/eval-scores', { scores })
  say(`${pushed?.stored} scores of two evaluators pushed.`)
  for (const id of pushed?.verdict_job_ids ?? []) await client.waitForJob(id)
}

/** Traces without scores are judged by what the import enqueued, which may come last. */
async function tellVerdicts(client: ApiClient, say: Say) {
  const verdicts = await awaitVerdicts(client)
  const counts = VERDICTS.map((word) => `${verdicts[word] ?? 0} ${word}`)
  say(`Verdicts: ${counts.join(', ')}.`)
}

/** Waits until the traces are tied to the manifests that they name. */
async function awaitTies(client: ApiClient, traceCount: number) {
  for (;;) {
    const tied = (await listManifests(client)).reduce((sum, each) => sum + each.traces_count, 0)
    if (tied >= traceCount) return
    await setTimeout(POLL_MS)
  }
}

/** Ids of the versions of the agent that has two, newest first. */
async function listVersions(client: ApiClient) {
  return (await listManifests(client, AGENT)).map(({ manifest_id }) => manifest_id)
}

/** What the newer version does to recorded traffic, and whether it does worse. */
async function compareVersions(client: ApiClient, { newer, older }: Versions, say: Say) {
  const reports = `/manifests/${newer}/compatibility`
  const started = await client.post<ReportAnswer>(`${reports}/run`, { old_manifest_id: older })
  await client.waitForJob(started?.job_id ?? '')
  const report = await client.get<ReportAnswer>(`${reports}/${started?.report_id}`)
  const looked = await client.post<BisectAnswer>(`/agents/${AGENT}/bisect`, {})
  await client.waitForJob(looked?.job_id ?? '')
  const { versions, findings } = await client.get<BisectAnswer>(`/agents/${AGENT}/bisect`)
  const means = versions.map(({ version_label, mean }) => `${mean?.toFixed(2)} in ${version_label}`)
  say(
    `Version v2 of ${AGENT}: ${report.replay} of ${report.total_episodes} traces of v1 need a replay; quality ${means.join(', ')}, ${findings.length} regression found.`,
  )
}

/** A few traces of the older version to be run as the newer one, for whoever tries a runner. */
async function makeReplayBatch(client: ApiClient, { newer, older }: Versions, say: Say) {
  const list = async () => client.get<BatchesAnswer>(`/replay/batches?agent_name=${AGENT}`)
  if ((await list()).total === 0) {
    const filters = { agent_name: AGENT, max_rows: 5 }
    const wanted = { source_manifest_id: older, target_manifest_id: newer, filters }
    const made = await client.post<{ job_id: string }>('/replay/batches', wanted)
    await client.waitForJob(made?.job_id ?? '')
  }
  const [batch] = (await list()).batches
  const command = `BASE=${client.base} KEY=YOUR_KEY npx node ops/runner.ts --batch ${batch?.id} -- COMMAND`
  say(`Replay batch: ${batch?.total} traces of v1 wait to be run as v2 by your agent: ${command}`)
}

async function buildDataset(client: ApiClient, dataset: (typeof DATASETS)[number], say: Say) {
  const { id } = await makeDataset(client, dataset, [{}])
  const version = await client.get<VersionAnswer>(`/datasets/${id}/versions/latest`)
  const files = version.files.filter(({ format }) => format === 'parquet')
  const size = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
  say(
    `Dataset ${dataset.name} ${version.version_label}: ${version.row_count} rows, Parquet ${sizeOf(size)}.`,
  )
}

function sizeOf(bytes: number) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

const AGENT = 'support-agent'
const DATASETS = [
  {
    name: 'support-sft',
    dataset_type: 'sft',
    training_target_agent: 'support-agent',
    description: 'Sample: conversations worth learning from',
  },
  {
    name: 'support-dpo',
    dataset_type: 'dpo',
    training_target_agent: 'support-agent',
    description: 'Sample: better and worse answers to the same prompt',
  },
] as const
const POLL_MS = 200

type Say = (sentence: string) => void
interface Rest {
  readonly client: ApiClient
  readonly stored: { readonly url: string; readonly key: string }
  readonly now: Date
  readonly say: Say
}
type Versions = Record<'newer' | 'older', string | undefined>

interface ScoresAnswer {
  readonly stored: number
  readonly verdict_job_ids: readonly string[]
}
interface ReportAnswer {
  readonly report_id: string
  readonly job_id: string
  readonly total_episodes: number
  readonly replay: number
}
interface BatchesAnswer {
  readonly total: number
  readonly batches: readonly { readonly id: string; readonly total: number }[]
}
interface BisectAnswer {
  readonly job_id: string
  readonly versions: readonly { version_label: string; mean: number | null }[]
  readonly findings: readonly object[]
}
interface VersionAnswer {
  readonly version_label: string
  readonly row_count: number
  readonly files: readonly { format: string; size_bytes: number }[]
}
