import { shape, uuidReference } from '../../jobs/shape.ts'
import { listRepaired, listRepairFailures } from '../../sql/manifests/repair-batches.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { maySee, readableProjects } from '../projects.ts'
import { readRepairBatch, shownRepairBatchBody, viewRepairBatch } from './repair.ts'

export const showRepair = endpoint('GET', '/repair/{repair_batch_id}', {
  summary: 'Read what a repair has come to',
  access: 'key',
  params: shape({ repair_batch_id: uuidReference() }),
  answers: { 200: shownRepairBatchBody, 404: errorBody },
  async handle({ context: { sql }, principal, params }) {
    const { orgId } = principal
    const batch = await readRepairBatch(sql, orgId, params.repair_batch_id)
    const visible = await readableProjects(sql, principal, undefined)
    if (!maySee(visible, batch.project_id)) throw notFound('Repair batch')
    const [failures, repaired] = await Promise.all([
      listRepairFailures(sql, orgId, batch.id),
      listRepaired(sql, orgId, batch.id, REPAIRED_SHOWN),
    ])
    const { project_id } = batch
    return { ...viewRepairBatch(batch), project_id, repaired_trace_ids: repaired, failures }
  },
})

const REPAIRED_SHOWN = 50
