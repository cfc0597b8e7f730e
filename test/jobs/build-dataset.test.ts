import { randomUUID } from 'node:crypto'
import t from 'tap'
import { buildDataset, builtVersion, payloadOfBuild } from '../../jobs/build-dataset.ts'
import { completeRecipe } from '../../jobs/rules/datasets/recipe.ts'
import type { RecipeRequest } from '../../jobs/rules/datasets/recipe.ts'
import { shape, uuid } from '../../jobs/shape.ts'

/** The payload that workers of the release before accept. */
const before = shape({ version_id: uuid() })

t.test('workers of the release before refuse what they would build in another way', async (t) => {
  const id = randomUUID()
  const payloadOf = (options: RecipeRequest['options']) => {
    const payload = payloadOfBuild(id, completeRecipe('sft', null, { options }))
    t.equal(buildDataset.payload.validate(payload).error, undefined)
    t.equal(builtVersion(payload), id)
    return payload
  }
  for (const options of [{}, { max_tokens: 5, dedupe: 'none', include_corrected: true }] as const) {
    t.same(before.validate(payloadOf(options)).value, { version_id: id })
  }
  const later = [
    { redact: ['email'] },
    { dedupe: 'near' },
    { max_turns: 2 },
    { min_turns: 1 },
    { include_corrected: false },
  ] as const
  for (const options of later) {
    t.match(before.validate(payloadOf(options)).error, { message: /"version_id" is required/ })
  }
})

t.test('a payload names one version', async (t) => {
  const id = randomUUID()
  for (const payload of [{}, { version_id: id, strict_version_id: id }]) {
    t.ok(buildDataset.payload.validate(payload).error, JSON.stringify(payload))
  }
})
