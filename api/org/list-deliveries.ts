import Joi from 'joi'
import { listOf, oneOf, shape, text, time } from '../../jobs/shape.ts'
import { countDeliveries, listDeliveries } from '../../sql/deliveries.ts'
import { endpoint } from '../endpoint.ts'
import { listMembers, pageQuery } from '../fields.ts'
import { COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { DELIVERY_STATES, deliveryBody, showDelivery } from './show-delivery.ts'

export const listDeliveriesOperation = endpoint('GET', '/org/webhook-deliveries', {
  area: 'webhooks',
  summary: 'List webhook deliveries, newest first',
  description: 'Kept for 90 days after their end.',
  access: 'global-admin',
  query: shape(
    {},
    {
      event: text(64),
      status: oneOf(...DELIVERY_STATES),
      since: time(),
      limit: pageQuery.limit,
      cursor: pageQuery.cursor,
    },
  ),
  answers: {
    200: Joi.object({ deliveries: listOf(deliveryBody).required(), ...listMembers }).label(
      'WebhookDeliveryList',
    ),
  },
  async handle({ context: { sql }, principal: { orgId }, query }) {
    const page = { limit: query.limit ?? 50, offset: 0 }
    const cursor = decodeCursor(query.cursor)
    const filter = {
      event: query.event,
      state: query.status,
      since: query.since,
      before: cursor && { created_at: cursor.at, id: cursor.id },
    }
    const [rows, counted] = await Promise.all([
      listDeliveries(sql, orgId, filter, page.limit + 1),
      countDeliveries(sql, orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('deliveries', page, rows, counted, showDelivery, (row) => [
      row.created_at,
      row.id,
    ])
  },
})
