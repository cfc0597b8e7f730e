import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { ManifestKey, MemberType } from '../../../jobs/rules/import/backup/member.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import {
  datasetText,
  findDatasets,
  findManifestIds,
  findPublicSkills,
  findPublicVersions,
  findSkills,
  findSkillVersions,
  findWorkspaces,
  manifestText,
  versionText,
} from '../../../sql/import/restored-references.ts'
import type { Entry } from './parse-lines.ts'

/**
 * Looks up all that entries of one kind name by natural keys, at once for each type.
 * @returns what gives the id of a row that is named, or the ids of those that a list names; undefined where one
 * of them is not there
 */
export async function findNamedRows(
  tx: Transaction,
  target: Namespace,
  kind: Kind,
  entries: readonly Entry[],
): Promise<(type: ReferenceType, naming: Naming) => unknown> {
  const found = new Map<string, Found>()
  for (const type of new Set(kind.members.map((member) => member.type))) {
    if (!isReference(type)) continue
    const members = kind.members.filter((member) => member.type === type)
    const names = entries.flatMap(({ values }) =>
      members.flatMap(({ name }) => (values[name] === null ? [] : { value: values[name], values })),
    )
    found.set(type, await LOOK_UPS[type](tx, target, names))
  }
  const own = kind.name === 'manifest' ? idsOfManifests(target, entries) : undefined
  return (type, naming) =>
    found.get(type)?.(naming) ?? (type === 'manifest' ? own?.(naming) : undefined)
}

/** Whether a member names a row by a natural key. */
export function isReference(type: MemberType): type is ReferenceType {
  return type in LOOK_UPS
}

/** A parent may be among the manifests that are restored together. */
function idsOfManifests({ projects }: Namespace, entries: readonly Entry[]): Found {
  const ids = new Map(
    entries.map(({ values }) => [
      textOfManifest(projects, { value: values, values }),
      values['id'],
    ]),
  )
  return (naming) => ids.get(textOfManifest(projects, naming))
}

const LOOK_UPS = {
  async project(_tx, { projects }) {
    return ({ value }) => projects.get(value as string)
  },
  async workspace(tx, { orgId }, names) {
    const ids = await findWorkspaces(tx, orgId, textsOf(names))
    return ({ value }) => ids.get(value as string)
  },
  async skill(tx, { orgId }, names) {
    const ids = await findSkills(tx, orgId, textsOf(names))
    return ({ value }) => ids.get(value as string)
  },
  async skill_version(tx, { orgId }, names) {
    const ids = await findSkillVersions(tx, orgId, names.map(versionIn('skill')))
    return (naming) => ids.get(versionText(versionIn('skill')(naming)))
  },
  async public_skill(tx, _target, names) {
    const ids = await findPublicSkills(tx, textsOf(names))
    return ({ value }) => ids.get(value as string)
  },
  async public_version(tx, _target, names) {
    const ids = await findPublicVersions(tx, names.map(versionIn('url_slug')))
    return (naming) => ids.get(versionText(versionIn('url_slug')(naming)))
  },
  async dataset(tx, { orgId, projects }, names) {
    const ids = await findDatasets(
      tx,
      orgId,
      names.flatMap((naming) => namedDataset(projects, naming) ?? []),
    )
    return (naming) => {
      const dataset = namedDataset(projects, naming)
      return dataset && ids.get(datasetText(dataset))
    }
  },
  async manifest(tx, target, names) {
    return findManifests(tx, target, names)
  },
  async manifests(tx, target, names) {
    const each = ({ value, values }: Naming) =>
      (value as unknown[]).map((key) => ({ value: key, values }))
    const found = await findManifests(tx, target, names.flatMap(each))
    return (naming) => {
      const ids = each(naming).map(found)
      return ids.includes(undefined) ? undefined : ids
    }
  },
  /** Ids here by those that stand within the line's JSON. */
  async manifests_within(tx, target, names) {
    const listed = await LOOK_UPS.manifests(tx, target, names)
    return (naming) => {
      const ids = listed(naming) as string[] | undefined
      const given = naming.value as readonly { readonly id: string }[]
      return ids && new Map(given.map(({ id }, i) => [id, ids[i]]))
    }
  },
} satisfies Partial<Record<MemberType, LookUp>>

async function findManifests(
  tx: Transaction,
  { orgId, projects }: Namespace,
  names: readonly Naming[],
): Promise<Found> {
  const named = names.flatMap((naming) => namedManifest(projects, naming) ?? [])
  const ids = await findManifestIds(tx, orgId, named)
  return (naming) => ids.get(textOfManifest(projects, naming))
}

function textOfManifest(projects: Namespace['projects'], naming: Naming) {
  const manifest = namedManifest(projects, naming)
  return manifest ? manifestText(manifest) : ''
}

function namedManifest(projects: Namespace['projects'], { value, values }: Naming) {
  const projectId = projects.get(values['project'] as string)
  const { agent_name, manifest_hash } = value as ManifestKey
  return projectId === undefined ? undefined : { projectId, agent_name, manifest_hash }
}

function namedDataset(projects: Namespace['projects'], { value, values }: Naming) {
  const projectId = projects.get(values['project'] as string)
  return projectId === undefined ? undefined : { projectId, name: value as string }
}

/** @param member what names the skill in the same line */
function versionIn(member: string) {
  return ({ value, values }: Naming) => ({
    skill: values[member] as string,
    number: value as number,
  })
}

function textsOf(names: readonly Naming[]) {
  return names.map(({ value }) => value as string)
}

/** In which rows have their names. */
interface Namespace {
  readonly orgId: string
  /** Ids by name of the projects that lines name. */
  readonly projects: ReadonlyMap<string, string>
}

/** The value of a member that names a row, and those of its line. */
interface Naming {
  readonly value: unknown
  readonly values: Entry['values']
}

type Found = (naming: Naming) => unknown
type LookUp = (tx: Transaction, target: Namespace, names: readonly Naming[]) => Promise<Found>
export type ReferenceType = keyof typeof LOOK_UPS
