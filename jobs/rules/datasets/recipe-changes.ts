import { canonicalJson } from '../core/canonical-json.ts'
import type { Recipe } from './recipe.ts'

/** A member of a recipe that two versions have otherwise. */
export interface RecipeChange {
  /** Members joined by dots, for example `split.train`. */
  readonly path: string
  /** Null where the recipe does not have it. */
  readonly from: unknown
  readonly to: unknown
}

/** What two recipes of one dataset have otherwise, by path: filters, and all else. */
export function compareRecipes({ filters: oldFilters, ...old }: Recipe, to: Recipe) {
  const { filters, ...rest } = to
  return {
    filter_changes: changesOf({ filters: oldFilters }, { filters }),
    option_changes: changesOf(old, rest),
  }
}

/** Whether a trace that both recipes select is in the same split. */
export function hasSameSplits(from: Recipe, to: Recipe) {
  const salt = ({ seed, split }: Recipe) => canonicalJson({ seed, split })
  return salt(from) === salt(to)
}

function changesOf(from: object, to: object): RecipeChange[] {
  const [old, now] = [new Map(membersOf(from)), new Map(membersOf(to))]
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort()
  return paths
    .map((path) => ({ path, from: old.get(path) ?? null, to: now.get(path) ?? null }))
    .filter((change) => canonicalJson(change.from) !== canonicalJson(change.to))
}

/** Members of objects one by one; lists are values. */
function membersOf(value: object, prefix = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const path = `${prefix}${name}`
    return typeof member === 'object' && member !== null && !Array.isArray(member)
      ? membersOf(member, `${path}.`)
      : [[path, member]]
  })
}
