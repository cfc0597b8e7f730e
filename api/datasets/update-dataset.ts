import { shape, text } from '../../jobs/shape.ts'
import { updateDataset } from '../../sql/datasets.ts'
import type { DatasetChange } from '../../sql/datasets.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { nameTaken } from './create-dataset.ts'
import { datasetBody, datasetPath, findVisibleDataset, showDataset } from './dataset-fields.ts'

export const updateDatasetOperation = endpoint('PATCH', '/datasets/{dataset_id}', {
  area: 'datasets',
  summary: 'Change name, description or target agent of a dataset',
  description: 'Members that are left out stay as they are; versions already built do not change.',
  access: 'key',
  params: datasetPath,
  body: shape(
    {},
    {
      name: text(256).min(1),
      description: text(4000).allow(null),
      training_target_agent: text(256).min(1).allow(null),
    },
  )
    .label('DatasetChange')
    .example({ description: 'Answers about orders' }),
  answers: { 200: datasetBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, body }) {
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const change = Object.fromEntries(
      Object.entries(body).filter(([, value]) => value !== undefined),
    ) as DatasetChange
    if (Object.keys(change).length === 0) return showDataset(dataset)
    if (!(await updateDataset(context.sql, principal.orgId, dataset.id, change))) {
      const name = change.name ?? dataset.name
      throw await nameTaken(context, principal.orgId, dataset.project_id, name)
    }
    return showDataset(await findVisibleDataset(context, principal, dataset.id))
  },
})
