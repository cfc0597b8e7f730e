import t from 'tap'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import { describeVersion } from '../../../../jobs/rules/datasets/version-facts.ts'

const VERSION = {
  id: '0199',
  version_number: 1,
  parent_version_id: null,
  content_hash: 'c0ffee',
  row_count: 2,
  split_counts: { train: 2, validation: 0, test: 0 },
  dropped_counts: {},
  losses: {},
  manifest_ids: [],
  policy: null,
}

t.test('a provenance says what was redacted, and not by which patterns', async (t) => {
  const settings = {
    patterns: [{ name: 'customers', pattern: 'Jane Doe|ACME-[0-9]+' }],
    keep: ['boss@acme.test'],
  }
  const filters = { tags: ['ann@example.com', 'ACME-77', 'vip'] }
  const options = { redact: ['email', 'custom'] as const }
  const recipe = completeRecipe('sft', null, { filters, options }, settings)
  const redaction = { ruleset: recipe.redaction?.ruleset ?? '', counts: { custom: 3 }, rows: 2 }
  const text = describeVersion({ ...VERSION, recipe, redaction }, [])
  const told = JSON.parse(text)
  t.same(told.redaction, { counts: { custom: 3 }, rows: 2 })
  t.same(told.recipe.filters.tags, ['[CUSTOM_1]', 'vip', '[EMAIL_1]'].sort())
  t.same(told.recipe.options.redact, ['email', 'custom'])
  t.same(
    Object.keys(told.recipe),
    Object.keys(recipe).filter((name) => name !== 'redaction'),
  )
  for (const secret of ['customers', 'Jane Doe', 'acme'])
    t.notMatch(text.toLowerCase(), secret.toLowerCase())
})
