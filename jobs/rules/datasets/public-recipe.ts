import type { Recipe } from './recipe.ts'
import { openTextRedactors } from './redact-text.ts'

/**
 * A recipe as strangers may read it: filters are redacted as the rows are, and the settings of redaction,
 * which may hold what they are to find, are left out.
 */
export function publicRecipe({ redaction, ...recipe }: Recipe): Omit<Recipe, 'redaction'> {
  if (!redaction) return recipe
  const { redactText } = openTextRedactors(recipe.options.redact, redaction)()
  const filters = JSON.parse(redactText(JSON.stringify(recipe.filters))) as Recipe['filters']
  return { ...recipe, filters }
}
