import { randomUUIDv7 } from 'node:crypto'
import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { ManifestKey } from '../../../jobs/rules/import/backup/member.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { cut } from '../../../jobs/rules/core/reader.ts'
import { byteaText } from '../../../sql/core/array-text.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import {
  datasetText,
  findDatasets,
  findManifestIds,
  findSkills,
  findSkillVersions,
  findWorkspaces,
  manifestText,
  versionText,
} from '../../../sql/import/restored-references.ts'
import type { RestoredRow } from '../../../sql/import/restored-rows.ts'
import type { LineFault } from '../containers/upload-fault.ts'
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
  const found = await findNamed(tx, target, kind, entries)
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
  found: Named,
): string | undefined {
  for (const { name, type, column } of members) {
    const value = values[name]
    if (column === null) continue
    if (value === null || !REFERENCES.has(type))
      row[column] = type === 'bytes' ? bytes(value) : value
    // A version is more than its skill, and a dataset more than its project, in the same column.
    else if (
      !(type === 'skill' && column === 'version_id') &&
      !(type === 'project' && column === 'dataset_id')
    ) {
      const id = found(type, value, values)
      if (id === undefined) return describe(type, value)
      row[column] = id
    } else if (found(type, value, values) === undefined) return describe(type, value)
  }
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

/** Looks up all that entries name, at once for each type. */
async function findNamed(
  tx: Transaction,
  { orgId, projects }: RestoreTarget,
  { name, members }: Kind,
  entries: readonly Entry[],
): Promise<Named> {
  const namesOf = (type: string) => {
    const named = members.filter((member) => member.type === type)
    return entries.flatMap(({ values }) => named.flatMap((member) => values[member.name] ?? []))
  }
  const has = (type: string) => members.some((member) => member.type === type)
  const projectOf = (values: Entry['values']) => projects.get(values['project'] as string)
  const workspaces = has('workspace')
    ? await findWorkspaces(tx, orgId, namesOf('workspace') as string[])
    : NONE
  const skills = has('skill') ? await findSkills(tx, orgId, namesOf('skill') as string[]) : NONE
  const numbers = entries.flatMap(({ values }) => {
    const skillId = skills.get(values['skill'] as string)
    const number = values['version_number']
    return skillId !== undefined && typeof number === 'number' ? [{ skillId, number }] : []
  })
  const versions = has('skill_version') ? await findSkillVersions(tx, orgId, numbers) : NONE
  const datasets = has('dataset')
    ? await findDatasets(
        tx,
        orgId,
        entries.flatMap(({ values }) => {
          const projectId = projectOf(values)
          return projectId === undefined ? [] : { projectId, name: values['dataset'] as string }
        }),
      )
    : NONE
  const manifestMembers = members.filter(({ type }) => type === 'manifest' || type === 'manifests')
  const keys = entries.flatMap(({ values }) => {
    const projectId = projectOf(values)
    if (projectId === undefined) return []
    const own = name === 'manifest' ? [values as unknown as ManifestKey] : []
    const named = manifestMembers.flatMap((member) => (values[member.name] ?? []) as ManifestKey[])
    return [...own, ...named].map(({ agent_name, manifest_hash }) => ({
      projectId,
      agent_name,
      manifest_hash,
    }))
  })
  const manifests = new Map(keys.length > 0 ? await findManifestIds(tx, orgId, keys) : NONE)
  // A parent may be among those that are restored together.
  if (name === 'manifest') {
    for (const { values } of entries) {
      const projectId = projectOf(values)
      const key = projectId && manifestText({ projectId, ...(values as unknown as ManifestKey) })
      if (key && !manifests.has(key)) manifests.set(key, values['id'] as string)
    }
  }
  const manifestOf = (key: ManifestKey, values: Entry['values']) => {
    const projectId = projectOf(values)
    return projectId && manifests.get(manifestText({ projectId, ...key }))
  }
  return (type, value, values) => {
    switch (type) {
      case 'project':
        return projects.get(value as string)
      case 'workspace':
        return workspaces.get(value as string)
      case 'skill':
        return skills.get(value as string)
      case 'skill_version': {
        const skillId = skills.get(values['skill'] as string)
        return skillId && versions.get(versionText({ skillId, number: value as number }))
      }
      case 'dataset': {
        const projectId = projectOf(values)
        return projectId && datasets.get(datasetText({ projectId, name: value as string }))
      }
      case 'manifest':
        return manifestOf(value as ManifestKey, values)
      default: {
        const ids = (value as ManifestKey[]).map((key) => manifestOf(key, values))
        return ids.includes(undefined) ? undefined : ids
      }
    }
  }
}

type Named = (type: string, value: unknown, values: Entry['values']) => unknown
interface StoredContent {
  readonly content: Uint8Array
  readonly content_hash: Uint8Array
  readonly tools_called: readonly string[]
}

const NONE: ReadonlyMap<string, string> = new Map()
const REFERENCES: ReadonlySet<string> = new Set([
  'workspace',
  'project',
  'skill',
  'skill_version',
  'dataset',
  'manifest',
  'manifests',
])
/** Characters of what is missing. */
const SHOWN = 200
