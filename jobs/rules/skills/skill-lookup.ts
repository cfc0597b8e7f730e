import { isUuid } from '../core/uuid.ts'
import type { TakenNames } from './install-name.ts'

/** Whose skills a caller finds, in the order in which they answer to a reference. */
export const SCOPES = ['own', 'used', 'public'] as const
export type Scope = (typeof SCOPES)[number]

/** What a skill is looked up by: its id, or a text that is its name, registry name or url slug. */
export type Lookup =
  | { readonly id: string; readonly name?: undefined }
  | { readonly name: string; readonly id?: undefined }

/** A skill that answers to a lookup. */
export interface Candidate {
  readonly scope: Scope
  /** Its handle and name. */
  readonly registry_name: string
}

/** What became of a reference. */
export type Choice<C extends Candidate> =
  | {
      readonly chosen: C
      /** Others answer to the reference too, after the chosen one. */
      readonly isShadowing: boolean
    }
  | { readonly chosen?: undefined; readonly error: 'not_found' }
  | {
      readonly chosen?: undefined
      readonly error: 'ambiguous_ref'
      /** Registry names of at most 5 skills that answer. */
      readonly names: readonly string[]
    }

/**
 * What a reference may mean, one after the other: an id; else a name, in any case and width, and then
 * the folder in which the project has the skill.
 */
export function lookupsOf(ref: string, taken: TakenNames): Lookup[] {
  if (isUuid(ref)) return lookupsOfId(ref)
  const holder = Object.hasOwn(taken, ref) ? taken[ref] : undefined
  return [{ name: foldReference(ref) }, ...(holder ? lookupsOfId(holder) : [])]
}

/** A reference in the case and width of names, which a request may give in any. */
export function foldReference(reference: string): string {
  return reference.normalize('NFKC').toLowerCase()
}

/** What the id of a skill may mean: nothing, where it is no id. */
export function lookupsOfId(id: string): Lookup[] {
  return isUuid(id) ? [{ id: id.toLowerCase() }] : []
}

/**
 * The skill that a reference means: the only one of the first scope that has any. Nothing is guessed
 * where several answer.
 * @param answers the skills that answer to each lookup of the reference
 */
export function chooseSkill<C extends Candidate>(answers: readonly (readonly C[])[]): Choice<C> {
  const found = answers.find((candidates) => candidates.length > 0) ?? []
  const scopes = SCOPES.map((scope) => found.filter((candidate) => candidate.scope === scope))
  const [[chosen, ...rivals] = [], ...others] = scopes.filter(({ length }) => length > 0)
  if (!chosen) return { error: 'not_found' }
  if (rivals.length === 0) return { chosen, isShadowing: others.length > 0 }
  const names = [chosen, ...rivals].map(({ registry_name }) => registry_name)
  return { error: 'ambiguous_ref', names: names.toSorted().slice(0, MAX_NAMES) }
}

const MAX_NAMES = 5
