import { createHash } from 'node:crypto'
import { orderBytes } from '../core/order.ts'
import { foldPath, isDevice } from './file-path.ts'
import { MAX_NAME } from './skill.ts'

/** What the folder of a skill is named after. */
export interface NamedSkill {
  readonly id: string
  /** In its organization: lower-case letters, digits and single hyphens. */
  readonly name: string
  /** The handle of its organization, of the same characters. */
  readonly owner: string
}

/** The folders of a project: the id of the skill that each holds, or null for one of somebody else. */
export type TakenNames = Readonly<Record<string, string | null>>

/** Names the folders of one request, one skill after the other. */
export interface InstallNames {
  /** Undefined when all names that the skill could have are taken. The same skill has the same name. */
  choose(skill: NamedSkill): string | undefined
  /** Whether the project had a folder of this name before. */
  isKept(name: string): boolean
  /** Whether a folder is said to hold the skill that is none, such as `..` or `a/b`. */
  isMisplaced(skillId: string): boolean
}

/**
 * A skill keeps the folder that it has: of several the one of its name, else the first by bytes. Another
 * skill gets its name, else that with its owner in front, else that with a part of the SHA-256 of its id
 * behind, so that what it gets does not depend on how many others have the same name. No two names are
 * one folder on file systems that ignore case, and none is a device of Windows.
 */
export function openInstallNames(taken: TakenNames): InstallNames {
  const kept = new Map<string, string[]>()
  const misplaced = new Set<string>()
  const folders = new Set<string>()
  for (const [folder, holder] of Object.entries(taken).toSorted(([a], [b]) => orderBytes(a, b))) {
    folders.add(foldPath(folder))
    const id = holder?.toLowerCase()
    if (id === undefined) continue
    if (!FOLDER_NAME.test(folder)) misplaced.add(id)
    else kept.set(id, [...(kept.get(id) ?? []), folder])
  }
  const chosen = new Map<string, string>()

  return {
    choose(skill) {
      const [first, ...others] = kept.get(skill.id) ?? []
      const before = others.includes(skill.name) ? skill.name : (first ?? chosen.get(skill.id))
      if (before !== undefined) return before
      const name = candidatesOf(skill).find((name) => !folders.has(name) && !isDevice(name))
      if (name !== undefined) {
        folders.add(name)
        chosen.set(skill.id, name)
      }
      return name
    },
    isKept: (name) => Object.hasOwn(taken, name),
    isMisplaced: (skillId) => misplaced.has(skillId),
  }
}

/**
 * The name with the owner in front, which never depends on what is taken: mostly the skill's `url_slug`.
 * At most 64 characters, 24 of them the owner's.
 */
export function disambiguate({ owner, name }: Pick<NamedSkill, 'owner' | 'name'>): string {
  return cutName(`${cutName(owner, MAX_OWNER)}-${name}`, MAX_NAME)
}

/** One component of a path, of at most 255 characters, that is not hidden and no way out of its folder. */
export const FOLDER_NAME = /^[^./\\\0][^/\\\0]{0,254}$/

/** In the order in which they are tried. */
function* candidatesOf(skill: NamedSkill) {
  const qualified = disambiguate(skill)
  yield skill.name
  yield qualified
  const hash = createHash('sha256').update(skill.id).digest('hex')
  for (let length = 6; length < MAX_NAME - 1; length += 4) {
    yield `${cutName(qualified, MAX_NAME - 1 - length)}-${hash.slice(0, length)}`
  }
}

/** The beginning of a name, of at most so many characters, without a hyphen at its end. */
export function cutName(name: string, length: number) {
  return name.slice(0, length).replace(/-$/, '')
}

const MAX_OWNER = 24
