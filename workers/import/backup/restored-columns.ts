import { randomUUIDv7 } from 'node:crypto'
import { hashFilters } from '../../../jobs/rules/datasets/filters.ts'
import type { Filters } from '../../../jobs/rules/datasets/filters.ts'
import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import { withManifestIds } from '../../../jobs/rules/import/backup/ids-within.ts'
import type { MemberType } from '../../../jobs/rules/import/backup/member.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { cut } from '../../../jobs/rules/core/reader.ts'
import { byteaText } from '../../../sql/core/array-text.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import type { RestoredRow } from '../../../sql/import/restored-rows.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { findNamedRows, isReference } from './named-rows.ts'
import type { Entry } from './parse-lines.ts'

/** Where rows are restored to. */
export interface RestoreTarget {
  readonly orgId: string
  /** Of the restore: it stands for the jobs that no backup has. */
  readonly jobId: string
  /** Ids by name of the projects that lines name and that may be written to. */
  readonly projects: ReadonlyMap<string, string>
}

/** An entry with the columns of its row. */
export interface RestoredEntry {
  readonly entry: Entry
  readonly row: RestoredRow
}

/**
 * Makes rows of entries of one kind: what they name by a natural key is replaced by its id here. An entry that
 * names what is not there is a fault.
 */
export async function toRows(
  tx: Transaction,
  target: RestoreTarget,
  kindName: Entry['kind'],
  entries: readonly Entry[],
): Promise<{ rows: readonly RestoredEntry[]; faults: readonly LineFault[] }> {
  const kind = kindOf(kindName)
  const found = await findNamedRows(tx, target, kind, entries)
  const rows: RestoredEntry[] = []
  const faults: LineFault[] = []
  for (const entry of entries) {
    const row: Record<string, unknown> = { ...madeColumns(entry, target) }
    const missing = setColumns(row, kind, entry, found)
    if (missing) faults.push({ line: entry.line, ...unknown(missing) })
    else rows.push({ entry, row })
  }
  return { rows, faults }
}

/** Why an entry whose project is not among those of the target is not restored. */
export function unknownProject(name: string) {
  return unknown(`the project ${JSON.stringify(cut(name, SHOWN))}, or this key may not use it`)
}

function unknown(what: string) {
  return { code: 'unknown_reference', message: `There is not ${what}` }
}

/** Sets the columns of a row, or says what is missing that they name. */
function setColumns(
  row: Record<string, unknown>,
  { members, hasContent }: Kind,
  { values }: Entry,
  found: Awaited<ReturnType<typeof findNamedRows>>,
): string | undefined {
  let within: ReadonlyMap<string, string> | undefined
  for (const { name, type, column } of members) {
    const value = values[name]
    const named = value !== null && isReference(type)
    const stored = named ? found(type, { value, values }) : storedOf(type, value)
    if (stored === undefined) return describe(type, value)
    if (column !== null) row[column] = stored
    else if (type === 'manifests_within' && value !== null) within = stored as typeof within
  }
  if (within) renameManifests(row, members, within)
  if (hasContent) {
    const { content, content_hash, tools_called } = values as unknown as StoredContent
    Object.assign(row, {
      content: byteaText(content),
      content_hash: byteaText(content_hash),
      tools_called,
    })
  }
  return undefined
}

/** Puts the ids that manifests have here into the JSON of a row, and the hash that its filters have with these. */
function renameManifests(
  row: Record<string, unknown>,
  members: Kind['members'],
  ids: ReadonlyMap<string, string>,
) {
  if ([...ids].every(([given, own]) => given === own)) return
  for (const { type, column } of members) {
    if (type === 'json' && column !== null) row[column] = withManifestIds(row[column], ids)
  }
  const { recipe } = row as { recipe?: { filters: Filters } }
  if (recipe) row['filter_hash'] = hashFilters(recipe.filters)
}

function storedOf(type: MemberType, value: unknown) {
  return type === 'bytes' ? bytes(value) : value
}

function bytes(value: unknown) {
  return typeof value === 'string' ? `\\x${Buffer.from(value, 'base64').toString('hex')}` : null
}

function describe(type: string, value: unknown) {
  return `the ${type.replace('_', ' ')} ${JSON.stringify(value).slice(0, SHOWN)}`
}

/** Columns that no line has. */
function madeColumns({ kind, values }: Entry, { jobId }: RestoreTarget): RestoredRow {
  if (kind === 'workspace' || kind === 'project') {
    return { id: randomUUIDv7(), created_at: new Date() }
  }
  if (kind === 'dataset_version') return { job_id: jobId, restored: true, streams: {} }
  if (kind === 'replay_batch') return { job_id: values['is_linked'] === true ? null : jobId }
  if (kind === 'repair_batch' || kind === 'regression_check') return { job_id: jobId }
  if (kind === 'skill_version') return { restored_by: jobId }
  return kind === 'skill' ? { visibility: 'private', scanner_version: 0 } : {}
}

interface StoredContent {
  readonly content: Uint8Array
  readonly content_hash: Uint8Array
  readonly tools_called: readonly string[]
}

/** Characters of what is missing. */
const SHOWN = 200
