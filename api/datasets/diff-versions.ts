import Joi from 'joi'
import { compareRecipes, hasSameSplits } from '../../jobs/rules/datasets/recipe-changes.ts'
import { listOf, shape, textReference } from '../../jobs/shape.ts'
import { ownedBy } from '../../sql/core/db.ts'
import { diffRows } from '../../sql/datasets/version-diff.ts'
import type { VersionRow } from '../../sql/datasets/versions.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import { datasetPath } from './dataset.ts'
import { findBuiltVersion } from './version.ts'

const count = Joi.number().integer().required()
const ids = listOf(Joi.string().guid()).required()

const versionBody = Joi.object({
  version_id: Joi.string().guid().required(),
  version_label: Joi.string().required(),
  row_count: count,
}).label('DatasetDiffVersion')

const samples = listOf(
  Joi.object({
    trace_id: Joi.string().required(),
    split_from: nullable(Joi.string()),
    split_to: nullable(Joi.string()),
    rows_from: count,
    rows_to: count,
    rows_unchanged: count,
  }).label('DatasetDiffSample'),
)
  .required()
  .description('Traces by id, 20 at most, with the rows that each version has of them')

const partBody = Joi.object({ count, samples }).required().label('DatasetDiffPart')

const changes = listOf(
  Joi.object({
    path: Joi.string().required(),
    from: Joi.any().allow(null),
    to: Joi.any().allow(null),
  }).label('DatasetRecipeChange'),
).required()

export const diffVersions = endpoint('GET', '/datasets/{dataset_id}/diff', {
  summary: 'What a version of a dataset changes against another',
  description:
    'Rows are the same when their trace and their text are. `added` counts the rows of traces that only `to` has, `removed` those of traces that only `from` has, `unchanged` the rows of both, and `changed` the traces of both with other rows: `rows_from` and `rows_to` of them are in one version only. `split_moves` counts the traces that are in another split; with equal seed and fractions (`same_splits`) it is 0. A version that came from a backup has no rows: 409 `not_built`. Answers 503 where the comparison takes longer than 60 seconds.',
  access: 'key',
  replicated: true,
  params: datasetPath,
  query: shape(
    {},
    {
      from: textReference().description('Id, number, `v3` or `latest`; default the parent of `to`'),
      to: textReference()
        .default('latest')
        .description('Id, number, `v3` or `latest`, the default'),
    },
  ),
  answers: {
    200: Joi.object({
      from: versionBody.required(),
      to: versionBody.required(),
      added: partBody,
      removed: partBody,
      unchanged: partBody,
      changed: Joi.object({ count, rows_from: count, rows_to: count, samples })
        .required()
        .label('DatasetDiffChanged'),
      split_moves: count,
      same_splits: Joi.boolean().required().description('Seed and fractions are equal'),
      manifest_changes: Joi.object({ added: ids, removed: ids })
        .required()
        .label('DatasetManifestChanges'),
      filter_changes: changes,
      option_changes: changes.description('Of all of the recipe but its filters'),
    }).label('DatasetDiff'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params: { dataset_id }, query }) {
    const find = (version: string) => findBuiltVersion(context, principal, { dataset_id, version })
    const to = await find(query.to)
    const reference = query.from ?? to.parent_version_id
    if (reference === null) throw notFound('Dataset version')
    const from = await find(reference)
    const sql = ownedBy(context.pools.compare, principal.orgId)
    const rows = await diffRows(sql, principal.orgId, { from: from.id, to: to.id })
    return {
      from: viewCompared(from),
      to: viewCompared(to),
      ...rows,
      same_splits: hasSameSplits(from.recipe, to.recipe),
      manifest_changes: {
        added: without(to.manifest_ids, from.manifest_ids),
        removed: without(from.manifest_ids, to.manifest_ids),
      },
      ...compareRecipes(from.recipe, to.recipe),
    }
  },
})

function viewCompared({ id, version_number, row_count }: VersionRow) {
  return { version_id: id, version_label: `v${version_number}`, row_count }
}

function without(some: readonly string[], others: readonly string[]) {
  const known = new Set(others)
  return some.filter((id) => !known.has(id))
}
