import t from 'tap'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import type { Candidate } from '../../../jobs/rules/datasets/candidates.ts'
import type { ListedTrace } from '../../../workers/datasets/listed-trace.ts'
import { openPairTaker } from '../../../workers/datasets/pair-taker.ts'
import { openOutput } from '../../../workers/datasets/row-output.ts'
import { assistant, candidate, contentOf, user } from '../../support/training-rows.ts'

const recipe = completeRecipe('dpo', null, {})
const nowhere = {
  files: {
    write: () => ({ shard: 0, byteOffset: 0 }),
    takeFinished: () => [],
    finish: () => undefined,
  },
  signatures: { add: () => undefined, close: () => undefined },
}
const ask = user('Is it so?')
const thanks = user('Thanks')

t.test('messages behind the turn of a pair are counted, on both sides', async (t) => {
  const output = openOutput(recipe, nowhere)
  const taker = openPairTaker(recipe)
  const good = contentOf({ rendered_input: [ask, assistant('It is so'), thanks, assistant('Bye')] })
  const bad = contentOf({ rendered_input: [ask, assistant('It is not'), thanks] })
  taker.take(listed(0, { quality: 1 }), good, output)
  taker.take(listed(1, { quality: 0 }), bad, output)
  taker.finish(output)
  t.match(output.take().rows, [{ losses: { messages_dropped: 3 } }])
})

t.test('messages behind a corrected turn are counted once', async (t) => {
  const output = openOutput(recipe, nowhere)
  const content = contentOf({ rendered_input: [ask, assistant('It is so'), thanks, thanks] })
  openPairTaker(recipe).take(listed(0), { ...content, corrected_output: 'It is not' }, output)
  t.match(output.take().rows, [{ losses: { messages_dropped: 2 } }])
})

function listed(index: number, of: Partial<Candidate> = {}): ListedTrace {
  const trace_id = `trace-${index}`
  const period = '2026-01-01'
  const created_at = new Date(0)
  const place = { index, splitIndex: 0, period, content_bytes: 0, created_at, revision: 0 }
  return { ...candidate, ...of, ...place, trace_id }
}
