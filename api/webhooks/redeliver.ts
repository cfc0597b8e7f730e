import type { Transaction } from '../../sql/core/db.ts'
import * as events from '../../sql/transactions/emit-event.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { deliveryPath, deliveryWithAttempts, readWithAttempts } from './delivery.ts'

export const redeliver = endpoint('POST', '/org/webhook-deliveries/{delivery_id}/redeliver', {
  summary: 'Send the bytes of a delivery again, as a new delivery',
  access: 'global-admin',
  params: deliveryPath,
  answers: { 201: deliveryWithAttempts, 404: errorBody },
  async handle({ context: { sql, queue }, principal: { orgId }, params }) {
    const id = await queue.transaction(sql, (tx: Transaction) =>
      events.redeliver(tx, queue, orgId, params.delivery_id),
    )
    if (!id) throw notFound('Delivery')
    return new Answer(201, await readWithAttempts(sql, orgId, id))
  },
})
