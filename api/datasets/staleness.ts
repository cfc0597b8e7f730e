import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import type { StaleReason } from '../../sql/datasets/staleness.ts'

export const staleBody = Joi.object({
  is_stale: Joi.boolean().required(),
  reasons: listOf(
    Joi.object({
      code: Joi.string().valid('manifest_superseded', 'trace_deleted').required(),
      count: Joi.number()
        .integer()
        .required()
        .description(
          'Manifests that are not active any more while others of their agents are, or traces that are gone: of those deleted one by one, about 1,000 at most',
        ),
      subjects: listOf(Joi.string())
        .required()
        .description(
          'Ids of 20 of them at most; a trace that was deleted with its month is not named',
        ),
    }).label('DatasetStaleReason'),
  ).required(),
}).label('DatasetStaleness')

/** @param reasons undefined for a version that is not ready */
export function viewStaleness(reasons: readonly StaleReason[] | undefined) {
  return reasons ? { is_stale: reasons.length > 0, reasons } : null
}
