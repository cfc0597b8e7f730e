import t from 'tap'
import { correctedRow } from '../../../../jobs/rules/datasets/pair-rows.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType, Options } from '../../../../jobs/rules/datasets/recipe.ts'
import { openRowWriter } from '../../../../jobs/rules/datasets/row-writer.ts'
import { openToolReader } from '../../../../jobs/rules/datasets/tools.ts'
import type { Message } from '../../../../jobs/rules/traces/trace.ts'
import { assistant, contentOf, make, user } from '../../../support/training-rows.ts'

t.test('turns with weight are bounded', async (t) => {
  const turns = (n: number) =>
    Array.from({ length: n }, (_, i) => [user(`q${i}`), assistant(`a${i}`)]).flat()
  const made = (messages: Message[], options: Partial<Options>, type: DatasetType = 'sft') =>
    make(contentOf({ rendered_input: messages }), options, type).map((row) =>
      typeof row === 'string' ? row : 'row',
    )
  const [at, below, above] = [{ max_turns: 3 }, { max_turns: 2 }, { min_turns: 4 }]
  t.same(made(turns(3), { ...at, min_turns: 3 }), ['row'])
  t.same(made(turns(3), below), ['too_many_turns'])
  t.same(made(turns(3), above), ['too_few_turns'])
  const unweighed = [user(), { ...assistant(), weight: 0 }, ...turns(2)]
  t.same(made(unweighed, { max_turns: 2, min_turns: 2 }), ['row'], 'one has no weight')
  t.same(made([user(), { ...assistant(), weight: 0 }], { min_turns: 1 }), ['no_trainable_turn'])
  t.same(made(turns(3), { rows: 'call', max_turns: 1 }), ['row'], 'a row of a call trains its turn')
  t.same(made(turns(3), { max_turns: 1 }, 'kto'), ['row'], 'the completion counts')
  const twice = [...turns(2), assistant('and more')]
  t.same(made(twice, { max_turns: 1 }, 'kto'), ['too_many_turns'])
  t.same(made(twice, { min_turns: 2 }, 'kto'), ['row'])
  const two = { ...contentOf({ rendered_input: turns(2) }), corrected_output: 'Better' }
  const pair = (options: Partial<Options>) => {
    const recipe = completeRecipe('dpo', null, { options })
    const declared = openToolReader()(two.llm_calls)
    return correctedRow(two, 'Better', declared, openRowWriter(recipe))
  }
  t.match(pair({ min_turns: 1, max_turns: 1 }), { hash: Buffer }, 'the chosen turn counts')
  t.same(pair({ min_turns: 2 }), { reason: 'too_few_turns' })
})
