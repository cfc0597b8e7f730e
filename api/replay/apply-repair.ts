import { shape } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, EXAMPLE_ID, waitHeaders } from '../fields.ts'
import { pairFields } from './repair-pair.ts'
import { repairBatchBody, rulesHashField } from './repair.ts'
import { runRepair } from './run-repair.ts'

export const applyRepair = endpoint('POST', '/repair/apply', {
  summary: 'Repair the traces of an older manifest for a newer one, by all rules',
  description:
    'Long work: 200 with the batch when it is done within the preferred wait, else 202. The traces stay as they are; a repaired content is kept beside each, which builds take. Once more with the same rules writes nothing.',
  access: 'key',
  body: shape(pairFields, { rules_hash: rulesHashField })
    .label('RepairRequest')
    .example({ old_manifest_id: EXAMPLE_ID, new_manifest_id: EXAMPLE_ID }),
  headers: waitHeaders,
  answers: { 200: repairBatchBody, 202: repairBatchBody, 404: errorBody, 409: errorBody },
  handle: (call) => runRepair(call, null),
})
