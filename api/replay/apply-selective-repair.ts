import { count, listOf, shape } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, EXAMPLE_ID, waitHeaders } from '../fields.ts'
import { MAX_REPAIR_RULES, pairFields } from './repair-pair.ts'
import { repairBatchBody, rulesHashField } from './repair.ts'
import { runRepair } from './run-repair.ts'

export const applySelectiveRepair = endpoint('POST', '/repair/apply-selective', {
  summary: 'Repair the traces of an older manifest for a newer one, by approved rules',
  description:
    'As `POST /repair/apply`; a trace that needs a rule that is not approved is skipped. 400 for the index of no rule.',
  access: 'key',
  body: shape(
    {
      ...pairFields,
      approved_rule_indices: listOf(count())
        .min(1)
        .max(MAX_REPAIR_RULES)
        .description('`rule_index` of rules that the preview shows'),
    },
    { rules_hash: rulesHashField },
  )
    .label('SelectiveRepairRequest')
    .example({
      old_manifest_id: EXAMPLE_ID,
      new_manifest_id: EXAMPLE_ID,
      approved_rule_indices: [0],
    }),
  headers: waitHeaders,
  answers: { 200: repairBatchBody, 202: repairBatchBody, 404: errorBody, 409: errorBody },
  handle: (call) => runRepair(call, call.body.approved_rule_indices),
})
