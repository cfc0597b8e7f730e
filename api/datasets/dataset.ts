import Joi from 'joi'
import { licenseText } from '../../jobs/rules/datasets/license.ts'
import { shape, uuidReference } from '../../jobs/shape.ts'
import { DATASET_TYPES } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findDataset, findDatasetByName } from '../../sql/datasets/datasets.ts'
import type { DatasetRow } from '../../sql/datasets/datasets.ts'
import type { ApiContext } from '../context.ts'
import { conflictWith, notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

export const datasetFields = {
  id: Joi.string().guid().required(),
  name: Joi.string().required(),
  description: nullable(Joi.string()),
  dataset_type: Joi.string()
    .valid(...DATASET_TYPES)
    .required(),
  training_target_agent: nullable(Joi.string()).description(
    'The agent whose traces a build takes when its filters name none',
  ),
  license: Joi.string().required().description('As the card states it'),
  project_id: Joi.string().guid().required(),
  current_version_id: nullable(Joi.string().guid()).description('The newest version that is ready'),
  row_count: Joi.number().integer().required().description('Of the current version'),
  version_count: Joi.number().integer().required(),
  created_at: times.required(),
}

export const datasetBody = Joi.object(datasetFields).label('Dataset')

/** What hubs know licenses by. */
export const licenseField = licenseText().description(
  'Identifier of a license as hubs know it, for example `apache-2.0`; default `other`',
)

export const datasetPath = shape({ dataset_id: uuidReference() })

export function viewDataset(dataset: DatasetRow) {
  return { ...dataset, row_count: dataset.row_count ?? 0 }
}

/** @throws ApiError 404 for a dataset that does not exist and for one the caller may not see, alike */
export async function findVisibleDataset({ sql }: ApiContext, principal: Principal, id: string) {
  const visible = await readableProjects(sql, principal, undefined)
  const dataset = await findDataset(sql, principal.orgId, visible, id)
  if (!dataset) throw notFound('Dataset')
  return dataset
}

/** 409 that identifies the dataset which has the name. */
export async function nameTaken(sql: Queryable, orgId: string, projectId: string, name: string) {
  const other = await findDatasetByName(sql, orgId, projectId, name)
  return conflictWith('The project has a dataset of that name', {
    type: 'dataset',
    id: other?.id ?? '',
    name,
  })
}
