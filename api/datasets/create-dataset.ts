import { randomUUIDv7 } from 'node:crypto'
import { oneOf, shape, text } from '../../jobs/shape.ts'
import { DATASET_TYPES } from '../../jobs/rules/datasets/recipe.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertDataset } from '../../sql/datasets/datasets.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, projectField, projectQuery } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { datasetBody, findVisibleDataset, licenseField, nameTaken, viewDataset } from './dataset.ts'

export const createDataset = endpoint('POST', '/datasets', {
  summary: 'Create a dataset',
  description:
    'Of type sft (conversations to learn from), dpo (pairs of a better and a worse turn) or kto (single turns, each good or bad). It has no rows until a version is built.',
  access: 'key',
  query: projectQuery,
  body: shape(
    { name: text(256).min(1), dataset_type: oneOf(...DATASET_TYPES) },
    {
      description: text(4000),
      training_target_agent: text(256).min(1),
      license: licenseField,
      project: projectField,
    },
  )
    .label('DatasetRequest')
    .example({ name: 'shop-sft', dataset_type: 'sft', training_target_agent: 'shop-agent' }),
  answers: { 201: datasetBody, 409: conflictBody },
  async handle({ context, principal, query, body }) {
    const { orgId } = principal
    const id = randomUUIDv7()
    await context.sql.begin(async (tx: Transaction) => {
      const project = await writableProject(tx, principal, query.project)
      const inserted = await insertDataset(tx, {
        id,
        org_id: orgId,
        project_id: project.id,
        name: body.name,
        description: body.description ?? null,
        dataset_type: body.dataset_type,
        training_target_agent: body.training_target_agent ?? null,
        license: body.license ?? 'other',
        created_at: context.now(),
      })
      if (!inserted) throw await nameTaken(tx, orgId, project.id, body.name)
    })
    const dataset = await findVisibleDataset(context, principal, id)
    return new Answer(201, viewDataset(dataset), { Location: `/api/v1/datasets/${id}` })
  },
})
