import { SPLITS } from './recipe.ts'
import type { Recipe } from './recipe.ts'

/** Which rows a row may not be near to: any better one, better ones of another split alone; `none`: all may be. */
export type NearScope = 'any' | 'other_split' | 'none'

/**
 * Near-duplicates are removed where that is asked for. Of several splits none may repeat what another one
 * has, unless duplicates are welcome: a test set that was trained on measures nothing.
 */
export function nearScope({ options, split }: Pick<Recipe, 'options' | 'split'>): NearScope {
  if (options.dedupe === 'near') return 'any'
  const used = SPLITS.filter((name) => split[name] > 0)
  return options.dedupe === 'exact' && used.length > 1 ? 'other_split' : 'none'
}
