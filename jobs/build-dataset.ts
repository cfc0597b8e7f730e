import { job } from './job.ts'
import type { Payload } from './job.ts'
import { isKnownBefore } from './rules/datasets/recipe.ts'
import type { Recipe } from './rules/datasets/recipe.ts'
import { shape, uuid } from './shape.ts'

/** Selects the rows of a dataset version and writes its files. */
export const buildDataset = job(
  'dataset.build',
  {
    // Workers of the release before require `version_id`: they give up a build that they would do wrong.
    payload: shape({}, { version_id: uuid(), strict_version_id: uuid() }).xor(
      'version_id',
      'strict_version_id',
    ),
  },
  {
    policy: 'exclusive',
    retryLimit: 2,
    retryDelaySeconds: 30,
    retryDelayMaxSeconds: 600,
    expireInSeconds: 14_400,
    heartbeatSeconds: 60,
  },
)

export function payloadOfBuild(id: string, recipe: Recipe): Payload<typeof buildDataset> {
  return isKnownBefore(recipe) ? { version_id: id } : { strict_version_id: id }
}

/** The version that a payload, which has its shape, is about. */
export function builtVersion(payload: Payload<typeof buildDataset>) {
  return (payload.version_id ?? payload.strict_version_id) as string
}
