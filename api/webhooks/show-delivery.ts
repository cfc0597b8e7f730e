import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { deliveryPath, deliveryWithAttempts, readWithAttempts } from './delivery.ts'

export const showDelivery = endpoint('GET', '/org/webhook-deliveries/{delivery_id}', {
  summary: 'Read a webhook delivery and its attempts',
  access: 'global-admin',
  params: deliveryPath,
  answers: { 200: deliveryWithAttempts, 404: errorBody },
  handle: ({ context, principal, params }) =>
    readWithAttempts(context.sql, principal.orgId, params.delivery_id),
})
