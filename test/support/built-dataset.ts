import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import type { Test } from 'tap'
import { openService } from './service.ts'
import type { Service } from './service.ts'
import { storeJudged } from './stored-traces.ts'
import type { JudgedTrace } from './stored-traces.ts'
import { until } from './until.ts'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'

type Client = ReturnType<Service['client']>

/** A service whose workers build datasets. */
export async function openDatasetService(t: Test, handler = buildDatasetHandler) {
  const service = await openService(t)
  await service.startWorkers([handler], 2)
  return {
    service,
    /** An organization of its own with these traces. */
    async openOrganization(traces: readonly JudgedTrace[]) {
      const org = await service.makeOrganization()
      await storeJudged(service.sql, org, traces)
      return { ...org, api: service.client(org.key) }
    },
  }
}

/** Creates a dataset and builds a version of it, waiting for the end. */
export async function buildDataset(api: Client, type: 'sft' | 'dpo' | 'kto', build: object = {}) {
  const name = `dataset ${Math.random()}`
  const dataset = await api.post('/datasets', { name, dataset_type: type })
  return buildVersion(api, dataset.body.id, build)
}

export async function buildVersion(api: Client, datasetId: string, build: object = {}) {
  const body = await tryBuild(api, datasetId, build)
  if (body.status !== 'ready') throw new Error(JSON.stringify(body))
  const { body: job } = await api.get(`/jobs/${body.job_id}`)
  if (job.attempt > 1) throw new Error('It was built at the second try, which nobody caused')
  return body as Version
}

/** The version of a build that has ended in whatever way. */
export async function tryBuild(api: Client, datasetId: string, build: object) {
  const asked = await api.post(`/datasets/${datasetId}/build`, build, { prefer: 'wait=50' })
  if (!asked.body.id) throw new Error(JSON.stringify(asked))
  return until(async () => {
    const { body } = await api.get(pathOf(asked.body))
    return body.status !== 'queued' && body.status !== 'building' && body
  })
}

/** The rows of a version as its JSONL has them, of one split or of all. */
export async function readJsonl(api: Client, version: Version, split?: string): Promise<Row[]> {
  const { body } = await api.get(`${pathOf(version)}/export${split ? `?split=${split}` : ''}`)
  const lines = (body as string).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Row)
}

/**
 * The rows of all Parquet files of a version as the lines would have them, by a reader that is not the one
 * that wrote them.
 */
export async function readParquet(service: Service, key: string, version: Version): Promise<Row[]> {
  const rows: Row[] = []
  for (const { split, shard } of version.files.filter(({ format }) => format === 'parquet')) {
    const { rawPayload } = await service.server.inject({
      url: `/api/v1${pathOf(version)}/export?format=parquet&split=${split}&shard=${shard}`,
      headers: { authorization: `Bearer ${key}` },
    })
    const bytes = rawPayload as Uint8Array
    const file = bytes.buffer.slice(
      bytes.byteOffset,
      bytes.byteOffset + bytes.byteLength,
    ) as ArrayBuffer
    rows.push(...((await parquetReadObjects({ file, compressors })) as Row[]))
  }
  return rows.map((row) => withParts(row) as Row)
}

/** Where a content came in parts, the lines have them in the place of the text. */
function withParts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withParts)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, withParts(member)])
  const { content_parts: parts, ...others } = Object.fromEntries(members) as Record<string, unknown>
  return parts ? { ...others, content: parts } : others
}

export function pathOf({ dataset_id, id }: Pick<Version, 'dataset_id' | 'id'>) {
  return `/datasets/${dataset_id}/versions/${id}`
}

/** Leaves out null members at any depth: JSONL leaves them out where Parquet has a null. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(
    ([, member]) => member !== null && member !== undefined,
  )
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

export interface Version {
  readonly id: string
  readonly dataset_id: string
  readonly version_number: number
  readonly row_count: number
  readonly content_hash: string
  readonly split_counts: Readonly<Record<string, number>>
  readonly dropped_counts: Readonly<Record<string, number>>
  readonly losses: Readonly<Record<string, number>>
  readonly warnings: readonly { readonly code: string; readonly message: string }[]
  readonly manifest_ids: readonly string[]
  readonly stale: unknown
  readonly job_id: string
  readonly files: readonly {
    readonly format: string
    readonly split: string
    readonly shard: number
    readonly path: string
    readonly row_count: number
    readonly size_bytes: number
    readonly sha256: string
  }[]
}

export interface Row {
  readonly messages: readonly {
    readonly role: string
    readonly content: string | null
    readonly weight: number
  }[]
  readonly tools: readonly object[]
  readonly prompt: Row['messages']
  readonly chosen: Row['messages']
  readonly rejected: Row['messages']
  readonly completion: Row['messages']
  readonly label: boolean
  readonly provenance: {
    readonly trace_id: string
    readonly rejected?: { readonly trace_id: string }
    readonly manifest_hash: string | null
    readonly target_manifest_hash?: string
    readonly repair?: object
    readonly replay?: object
    readonly scores: Readonly<Record<string, number>>
    readonly repaired: boolean
    readonly pair_source?: string
    readonly tools_from: string
    readonly row_id: string
  }
}
