import t from 'tap'
import { compareRecipes, hasSameSplits } from '../../../../jobs/rules/datasets/recipe-changes.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import type { RecipeRequest } from '../../../../jobs/rules/datasets/recipe.ts'

const recipe = (request: RecipeRequest) => completeRecipe('sft', 'agent', request)

t.test('changes are told by path, filters apart from the rest', (t) => {
  const from = recipe({ filters: { tags: ['b', 'a'], min_eval_score: 0.5 } })
  const to = recipe({
    filters: { tags: ['a'], min_eval_score: 0.5, since: new Date('2026-01-01') },
    split: { train: 0.9, test: 0.1 },
    seed: 2,
    options: { max_tokens: 100 },
  })
  t.same(compareRecipes(from, to), {
    filter_changes: [
      { path: 'filters.since', from: null, to: '2026-01-01T00:00:00.000Z' },
      { path: 'filters.tags', from: ['a', 'b'], to: ['a'] },
    ],
    option_changes: [
      { path: 'options.max_tokens', from: null, to: 100 },
      { path: 'seed', from: 0, to: 2 },
      { path: 'split.test', from: 0, to: 0.1 },
      { path: 'split.train', from: 1, to: 0.9 },
    ],
  })
  t.same(compareRecipes(to, to), { filter_changes: [], option_changes: [] })
  t.end()
})

t.test('splits are the same by seed and fractions alone', (t) => {
  t.ok(hasSameSplits(recipe({ seed: 3 }), recipe({ seed: 3, filters: { tags: ['a'] } })))
  t.notOk(hasSameSplits(recipe({ seed: 3 }), recipe({ seed: 4 })))
  t.notOk(hasSameSplits(recipe({}), recipe({ split: { train: 0.9, test: 0.1 } })))
  t.end()
})
