import { shape, text } from '../../jobs/shape.ts'
import * as datasets from '../../sql/datasets/datasets.ts'
import type { DatasetChange } from '../../sql/datasets/datasets.ts'
import { endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import {
  datasetBody,
  datasetPath,
  findVisibleDataset,
  licenseField,
  nameTaken,
  viewDataset,
} from './dataset.ts'

export const updateDataset = endpoint('PATCH', '/datasets/{dataset_id}', {
  summary: 'Change name, description, target agent or license of a dataset',
  description: 'Members that are left out stay as they are; versions already built do not change.',
  access: 'key',
  params: datasetPath,
  body: shape(
    {},
    {
      name: text(256).min(1),
      description: text(4000).allow(null),
      training_target_agent: text(256).min(1).allow(null),
      license: licenseField,
    },
  )
    .label('DatasetChange')
    .example({ description: 'Answers about orders' }),
  answers: { 200: datasetBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, params, body }) {
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const { name, description, training_target_agent, license } = body
    const change: DatasetChange = {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(training_target_agent !== undefined && { training_target_agent }),
      ...(license !== undefined && { license }),
    }
    if (Object.keys(change).length === 0) return viewDataset(dataset)
    if (!(await datasets.updateDataset(context.sql, principal.orgId, dataset.id, change))) {
      const taken = name ?? dataset.name
      throw await nameTaken(context.sql, principal.orgId, dataset.project_id, taken)
    }
    return viewDataset(await findVisibleDataset(context, principal, dataset.id))
  },
})
