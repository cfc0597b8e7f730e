import Joi from 'joi'
import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { listOf, shape, textReference, uuidReference } from '../../jobs/shape.ts'
import { DATASET_TYPES, SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import { findStaleReasons } from '../../sql/datasets/staleness.ts'
import type { StaleReason } from '../../sql/datasets/staleness.ts'
import { countFitting, findVersion, listFiles } from '../../sql/datasets/versions.ts'
import type { FileRow, VersionReference, VersionRow } from '../../sql/datasets/versions.ts'
import type { ApiContext } from '../context.ts'
import { ApiError, conflict, notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { findVisibleDataset } from './dataset.ts'
import { staleBody, viewStaleness } from './staleness.ts'

const count = Joi.number().integer()

const lengthBins = listOf(
  Joi.object({ from: count.required(), to: count.required(), rows: count.required() }).label(
    'DatasetLengthBin',
  ),
)
  .required()
  .description('Those with rows, ascending; `from` and `to` are included')

export const versionBody = Joi.object({
  id: Joi.string().guid().required(),
  version_id: Joi.string().guid().required().description('The same as `id`'),
  dataset_id: Joi.string().guid().required(),
  dataset_name: Joi.string().required(),
  dataset_type: Joi.string()
    .valid(...DATASET_TYPES)
    .required(),
  project_id: Joi.string().guid().required(),
  version_number: count.required(),
  version_label: Joi.string().required().description('`v` and the number'),
  status: Joi.string().valid('queued', 'building', 'ready', 'failed', 'canceled').required(),
  filters: Joi.object().unknown(true).required().description('As the build used them'),
  split: Joi.object(Object.fromEntries(SPLITS.map((name) => [name, Joi.number()])))
    .required()
    .label('DatasetSplit'),
  seed: count.required(),
  options: Joi.object().unknown(true).required(),
  manifest_ids: listOf(Joi.string().guid()).required().description('Of the traces in the version'),
  filter_hash: Joi.string().required().description('SHA-256 of the filters'),
  content_hash: nullable(Joi.string()).description('SHA-256 over the hashes of the rows, in order'),
  row_count: nullable(count),
  split_counts: nullable(Joi.object().pattern(Joi.string(), count)),
  dropped_counts: nullable(Joi.object().pattern(Joi.string(), count)).description(
    'What gave no row, by reason; `filtered.<name>` counts the traces a filter left out, `near_duplicate` and `split.near_duplicate` the rows near to a better one of their split and of another one',
  ),
  losses: Joi.object()
    .pattern(Joi.string(), count)
    .required()
    .description('What rows do not tell of their traces, by word: how many messages it concerns'),
  warnings: listOf(
    Joi.object({ code: Joi.string().required(), message: Joi.string().required() }).label(
      'DatasetWarning',
    ),
  )
    .required()
    .description('`length_bias`: chosen turns are longer or shorter than rejected ones'),
  token_estimate: nullable(count).description('Four characters of JSON a token'),
  policy: nullable(Joi.object().unknown(true)).description(
    'The policies that decided on the traces',
  ),
  redaction: nullable(
    Joi.object({
      ruleset: Joi.string()
        .required()
        .description('SHA-256 of the rules and settings it was done by'),
      counts: Joi.object()
        .pattern(Joi.string(), count)
        .required()
        .description(
          'How many values were taken out, by class, each as often as it stood in a row',
        ),
      rows: count.required().description('How many rows anything was taken out of'),
    }).label('DatasetRedaction'),
  ).description('What was taken out of the rows; null where `options.redact` asked for nothing'),
  funnel: nullable(
    Joi.object({
      traces: count.required().description('Of the project'),
      passed: count.required().description('Traces that pass the filters'),
      eligible: count.required().description('Traces that may give rows of the type'),
      rows_made: count.required().description('Before any were left out beside others'),
    }).label('DatasetFunnel'),
  ).description(
    'What was left after each step of the build, of which `dropped_counts` has the reasons; null until it is ready, and in versions that an earlier release built',
  ),
  lengths: nullable(
    Joi.object({ tokens: lengthBins, messages: lengthBins }).label('DatasetLengths'),
  ).description(
    'How many rows are how long: by the estimate of tokens, and by messages, of a pair those of the prompt and the chosen one. Null where `funnel` is',
  ),
  files: listOf(
    Joi.object({
      format: Joi.string().valid('jsonl', 'parquet').required(),
      split: Joi.string()
        .valid(...SPLITS)
        .required(),
      shard: count.required(),
      path: Joi.string().required(),
      row_count: count.required(),
      size_bytes: count.required(),
      sha256: Joi.string().required(),
    }).label('DatasetFile'),
  ).required(),
  stale: nullable(staleBody).description(
    'Whether an agent of its traces has moved on, or traces of its rows are gone; null until it is ready',
  ),
  restored: Joi.boolean()
    .required()
    .description('It came from a backup, which has neither rows nor files: rebuild it'),
  parent_version_id: nullable(Joi.string().guid()),
  job_id: Joi.string().guid().required(),
  created_by: nullable(Joi.string()),
  created_at: times.required(),
  ready_at: nullable(times),
  error: nullable(Joi.object().unknown(true)),
}).label('DatasetVersion')

export const versionPath = shape({
  dataset_id: uuidReference(),
  version: textReference().description('Id, number, `v3` or `latest`'),
})

/** A version as clients see it, with its files. */
export async function viewVersion(context: ApiContext, orgId: string, version: VersionRow) {
  const [view] = await describeAll(context, orgId, [version])
  return view as NonNullable<typeof view>
}

/** The first of some versions: as many as have `MAX_FILES` files together, and one in any case. */
export async function viewVersions(
  context: ApiContext,
  orgId: string,
  versions: readonly VersionRow[],
) {
  const ids = versions.map(({ id }) => id)
  const fitting = await countFitting(context.sql, orgId, ids, MAX_FILES)
  return describeAll(context, orgId, versions.slice(0, Math.max(1, fitting)))
}

async function describeAll({ sql }: ApiContext, orgId: string, versions: readonly VersionRow[]) {
  const ids = versions.map(({ id }) => id)
  const [allFiles, reasons] = await Promise.all([
    listFiles(sql, orgId, ids),
    findStaleReasons(sql, orgId, versions),
  ])
  const files = Map.groupBy(allFiles, ({ version_id }) => version_id)
  return versions.map((version) =>
    describe(version, files.get(version.id) ?? [], reasons.get(version.id)),
  )
}

/** @throws ApiError 404 */
export async function findVisibleVersion(
  context: ApiContext,
  principal: Principal,
  { dataset_id, version: reference }: { dataset_id: string; version: string },
) {
  const dataset = await findVisibleDataset(context, principal, dataset_id)
  const read = readReference(reference)
  const version = read && (await findVersion(context.sql, principal.orgId, dataset.id, read))
  if (!version) throw notFound('Dataset version')
  return version
}

/** @throws ApiError 404, and 409 while the version is not ready */
async function findReadyVersion(...args: Parameters<typeof findVisibleVersion>) {
  const version = await findVisibleVersion(...args)
  if (version.status !== 'ready') {
    throw conflict(`Version v${version.version_number} is not ready: it is ${version.status}`)
  }
  return version
}

/** As `findReadyVersion`, of a version whose rows and files are wanted. @throws ApiError 409 for one that has none */
export async function findBuiltVersion(...args: Parameters<typeof findVisibleVersion>) {
  const version = await findReadyVersion(...args)
  if (!version.restored) return version
  const detail = `Version v${version.version_number} came from a backup and was not built here: rebuild it`
  throw new ApiError(409, 'not_built', detail)
}

function readReference(reference: string): VersionReference | undefined {
  if (reference === 'latest') return 'latest'
  if (isUuid(reference)) return { id: reference }
  const number = Number(/^v?(\d{1,9})$/.exec(reference)?.[1])
  return Number.isNaN(number) ? undefined : { number }
}

function describe(
  version: VersionRow,
  files: readonly FileRow[],
  reasons: readonly StaleReason[] | undefined,
) {
  const { id, version_number, recipe } = version
  return {
    id,
    version_id: id,
    version_label: `v${version_number}`,
    filters: recipe.filters,
    split: recipe.split,
    seed: recipe.seed,
    options: recipe.options,
    ...pick(version, VERSION_MEMBERS),
    files: files.map((file) => pick(file, FILE_MEMBERS)),
    stale: viewStaleness(reasons),
  }
}

function pick<T, K extends keyof T>(row: T, members: readonly K[]) {
  return Object.fromEntries(members.map((name) => [name, row[name]])) as Pick<T, K>
}

/** Of one answer: 3 MB. */
const MAX_FILES = 10_000
const VERSION_MEMBERS = [
  'dataset_id',
  'dataset_name',
  'dataset_type',
  'project_id',
  'version_number',
  'status',
  'manifest_ids',
  'filter_hash',
  'content_hash',
  'row_count',
  'split_counts',
  'dropped_counts',
  'losses',
  'warnings',
  'restored',
  'token_estimate',
  'policy',
  'redaction',
  'funnel',
  'lengths',
  'parent_version_id',
  'job_id',
  'created_by',
  'created_at',
  'ready_at',
  'error',
] as const
const FILE_MEMBERS = [
  'format',
  'split',
  'shard',
  'path',
  'row_count',
  'size_bytes',
  'sha256',
] as const
