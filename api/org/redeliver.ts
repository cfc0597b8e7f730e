import { shape, uuid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { redeliver } from '../../sql/deliveries.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { deliveryWithAttempts, showWithAttempts } from './show-delivery.ts'

export const redeliverOperation = endpoint(
  'POST',
  '/org/webhook-deliveries/{delivery_id}/redeliver',
  {
    area: 'webhooks',
    summary: 'Send the bytes of a delivery again, as a new delivery',
    access: 'global-admin',
    params: shape({ delivery_id: uuid() }),
    answers: { 201: deliveryWithAttempts, 404: errorBody },
    async handle({ context: { sql, queue }, principal: { orgId }, params }) {
      const id = await queue.transaction(sql, (tx: Transaction) =>
        redeliver(tx, queue, orgId, params.delivery_id),
      )
      if (!id) throw notFound('Delivery')
      return new Answer(201, await showWithAttempts(sql, orgId, id))
    },
  },
)
