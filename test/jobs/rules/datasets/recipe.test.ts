import t from 'tap'
import { VERDICTS } from '../../../../jobs/rules/core/verdicts.ts'
import { hashFilters } from '../../../../jobs/rules/datasets/filters.ts'
import { completeRecipe, DATASET_TYPES } from '../../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType, RecipeRequest } from '../../../../jobs/rules/datasets/recipe.ts'

t.test('what a request leaves out is filled in', async (t) => {
  t.match(completeRecipe('sft', null, {}), {
    filters: { verdicts: ['keep', 'repair'], agent_name: null, max_rows: null },
    split: { train: 1, validation: 0, test: 0 },
    seed: 0,
    options: {
      format: 'openai',
      rows: 'conversation',
      dedupe: 'exact',
      include_needs_review: true,
      include_corrected: true,
      max_turns: null,
      min_turns: null,
      reasoning: 'drop',
      length_balance: true,
    },
  })
  t.same(completeRecipe('dpo', null, {}).filters.verdicts, ['drop', 'keep', 'repair', 'replay'])
  t.same(completeRecipe('kto', null, {}).filters.verdicts, ['drop', 'keep', 'repair', 'replay'])
})

t.test("the dataset's target agent is meant when none is named", async (t) => {
  t.equal(completeRecipe('sft', 'a', {}).filters.agent_name, 'a')
  t.equal(completeRecipe('sft', 'a', { filters: { agent_name: 'b' } }).filters.agent_name, 'b')
})

t.test('the order of a list and repeated words change nothing', async (t) => {
  const hash = (tags: string[]) =>
    hashFilters(completeRecipe('sft', null, { filters: { tags } }).filters)
  t.equal(hash(['b', 'a', 'b']), hash(['a', 'b']))
  t.not(hash(['a']), hash(['a', 'b']))
})

t.test('a verdict under eval_verdict means the traces of that verdict', async (t) => {
  for (const word of VERDICTS) {
    const { filters } = completeRecipe('sft', null, { filters: { eval_verdict: word } })
    t.match(filters, { verdicts: [word], eval_verdict: null })
    const both = { eval_verdict: word, verdicts: [word] }
    t.same(completeRecipe('sft', null, { filters: both }).filters, filters)
    const other = { ...both, verdicts: VERDICTS.filter((verdict) => verdict !== word) }
    t.throws(() => completeRecipe('sft', null, { filters: other }), { message: /give one of them/ })
    const named = completeRecipe('sft', null, { filters: { verdicts: [word] } })
    t.equal(hashFilters(filters), hashFilters(named.filters))
  }
  const { filters } = completeRecipe('sft', null, { filters: { eval_verdict: 'pass' } })
  t.match(filters, { verdicts: ['keep', 'repair'], eval_verdict: 'pass' })
})

t.test('naming the defaults makes no other recipe', async (t) => {
  const named = { reasoning: 'drop', length_balance: true, include_needs_review: true } as const
  for (const type of DATASET_TYPES) {
    t.same(completeRecipe(type, null, { options: named }), completeRecipe(type, null, {}))
  }
})

t.test('parts that do not go together are refused', async (t) => {
  const cases: [DatasetType, RecipeRequest, RegExp][] = [
    ['sft', { split: { train: 0.5 } }, /add up to 0.5/],
    ['sft', { split: { train: 0.9, test: 0.2 } }, /add up to/],
    ['sft', { filters: { since: new Date(2000), until: new Date(1000) } }, /since must be before/],
    ['kto', { options: { format: 'sharegpt' } }, /sharegpt/],
    ['dpo', { options: { rows: 'call' } }, /conversation/],
    ['sft', { options: { min_turns: 3, max_turns: 2 } }, /min_turns must not be more/],
  ]
  for (const [type, request, message] of cases) {
    t.throws(() => completeRecipe(type, null, request), { message }, String(message))
  }
  t.doesNotThrow(() =>
    completeRecipe('sft', null, { split: { train: 0.7, validation: 0.1, test: 0.2 } }),
  )
})
