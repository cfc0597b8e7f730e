import { endpoint } from '../endpoint.ts'
import { errorBody, quotaBody, waitHeaders } from '../fields.ts'
import { answerBuild } from './build.ts'
import { findVisibleDataset } from './dataset.ts'
import { findVisibleVersion, versionBody, versionPath } from './version.ts'

export const rebuildVersion = endpoint(
  'POST',
  '/datasets/{dataset_id}/versions/{version}/rebuild',
  {
    summary: 'Build a new version by the recipe of another',
    description:
      'With the same filters, splits, seed and options, over the traces of today; answered and counted as a build. The version itself stays as it is.',
    access: 'key',
    params: versionPath,
    headers: waitHeaders,
    answers: { 201: versionBody, 202: versionBody, 402: quotaBody, 404: errorBody },
    async handle(call) {
      const { context, principal, params } = call
      const dataset = await findVisibleDataset(context, principal, params.dataset_id)
      const { recipe } = await findVisibleVersion(context, principal, params)
      return answerBuild(call, dataset, recipe)
    },
  },
)
