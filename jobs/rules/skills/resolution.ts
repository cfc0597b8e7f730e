import type { Scope } from './skill-lookup.ts'
import type { Band, Stability } from './skill.ts'

/** What is said of a skill that was resolved, and why one was not. */

/** Why an item was not resolved. */
export const ITEM_ERRORS = [
  'invalid_item',
  'not_found',
  'ambiguous_ref',
  'version_not_found',
  'withheld',
  'hash_mismatch',
  'version_conflict',
  'name_unavailable',
] as const
export type ItemErrorCode = (typeof ITEM_ERRORS)[number]

export interface ItemError {
  readonly code: ItemErrorCode
  readonly message: string
}

/**
 * An error whose text is made of what the caller sent, so that it tells nothing of what there is.
 * @param names of an ambiguous reference: skills that the caller may see
 */
export function itemError(
  code: ItemErrorCode,
  ref: string,
  names: readonly string[] = [],
): ItemError {
  return { code, message: MESSAGES[code](ref, names) }
}

/** The version that an item asks for; undefined for one that cannot be read. */
export function readVersion(version: string | number | undefined): VersionWish | undefined {
  if (version === undefined) return { isOpen: true }
  if (version === 'latest') return { isOpen: false }
  if (!/^[1-9][0-9]{0,8}$/.test(String(version))) return undefined
  return { isOpen: false, version: Number(version) }
}

export interface VersionWish {
  /** Nothing was said: an assignment may decide. */
  readonly isOpen: boolean
  /** Undefined for the latest. */
  readonly version?: number | undefined
}

/**
 * The version that a skill's assignments hold it to: undefined where they name none, or several.
 * @param pins the different versions of the assignments, null for the latest
 */
export function pinOf(pins: readonly (string | null)[]): string | undefined {
  const [pin, ...others] = pins
  return others.length === 0 ? (pin ?? undefined) : undefined
}

/** Whether a version is not served to the caller. */
export function isWithheld({ scope, band, isHeld }: Served): boolean {
  return scope !== 'own' && (band === 'blocked' || isHeld)
}

/** How the caller has the skill. */
export function relationshipOf({ scope, is_fork }: { scope: Scope; is_fork: boolean }) {
  if (scope !== 'own') return scope
  return is_fork ? 'forked' : 'owned'
}
export const RELATIONSHIPS = ['owned', 'forked', 'used', 'public'] as const

/** What a caller should know of a skill that it installs. Each note begins with a word for programs. */
export function notesOf(skill: NotedSkill): string[] {
  const isOwn = skill.scope === 'own'
  return [
    skill.isPinned && NOTES.pinned,
    skill.hasRivalPins && NOTES.rivalPins,
    skill.stability === 'deprecated' && NOTES.deprecated,
    isOwn && skill.band === 'blocked' && NOTES.blocked,
    skill.band === 'unreviewed' && NOTES.unreviewed,
    skill.hasNewer && NOTES.newerWithheld,
    skill.isNameKept && NOTES.nameKept,
    skill.isMisplaced && NOTES.misplaced,
    skill.isShadowing && NOTES.refShadowed,
  ].filter((note) => note !== false)
}

export const NOTES = {
  pinned: 'pinned: agents of your organization are held to this version',
  rivalPins: 'pinned: agents differ',
  deprecated: 'deprecated: its author advises against using this skill',
  blocked: 'blocked: the safety scan blocks this version, so no other organization is served it',
  unreviewed: 'unreviewed: the safety of this version was not looked at yet',
  newerWithheld: 'newer_withheld: a newer version is withheld for its safety',
  nameKept: 'name_kept: the skill stays in the folder in which the project has it',
  misplaced:
    'name_unsafe: the folder given for the skill is no safe name of a folder and is not used',
  refShadowed:
    'ref_shadowed: public skills answer to this reference too; owner/name tells them apart',
} as const

interface Served {
  readonly scope: Scope
  readonly band: Band
  readonly isHeld: boolean
}

interface NotedSkill {
  readonly scope: Scope
  readonly band: Band
  readonly stability: Stability
  /** An assignment decided on the version. */
  readonly isPinned: boolean
  /** Assignments name several versions, so that none decides. */
  readonly hasRivalPins: boolean
  /** A newer version than the latest is withheld. */
  readonly hasNewer: boolean
  /** The project has it in a folder of another name than its own. */
  readonly isNameKept: boolean
  readonly isMisplaced: boolean
  readonly isShadowing: boolean
}

const MESSAGES: Readonly<Record<ItemErrorCode, (ref: string, names: readonly string[]) => string>> =
  {
    invalid_item: (ref) =>
      `The item ${ref} must have either ref or skill_id, and as its version latest, a number or a version_id`,
    not_found: (ref) => `No skill answers to ${ref}`,
    ambiguous_ref: (ref, names) => `Several skills answer to ${ref}, such as ${names.join(', ')}`,
    version_not_found: (ref) => `${ref} has no such version`,
    withheld: (ref) => `This version of ${ref} is withheld for its safety`,
    hash_mismatch: (ref) => `The body of this version of ${ref} has another hash than content_hash`,
    version_conflict: (ref) =>
      `An item before ${ref} has another version of the same skill, and a folder holds one`,
    name_unavailable: (ref) => `All names of folders that ${ref} could have are taken`,
  }
