import Joi from 'joi'
import { listOf, oneOf, shape, text, time } from '../../jobs/shape.ts'
import * as deliveries from '../../sql/webhooks/deliveries.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, listMembers } from '../fields.ts'
import { ageKey, COUNT_LIMIT, decodeCursor, listAnswer } from '../pagination.ts'
import { DELIVERY_STATES, deliveryBody, viewDelivery } from './delivery.ts'

export const listDeliveries = endpoint('GET', '/org/webhook-deliveries', {
  summary: 'List webhook deliveries, newest first',
  description: 'Kept for 90 days after their end.',
  access: 'global-admin',
  query: shape(
    {},
    {
      event: text(64),
      status: oneOf(...DELIVERY_STATES),
      since: time(),
      ...cursorQuery,
    },
  ),
  answers: {
    200: Joi.object({ deliveries: listOf(deliveryBody).required(), ...listMembers }).label(
      'WebhookDeliveryList',
    ),
  },
  async handle({ context: { sql }, principal: { orgId }, query }) {
    const page = { limit: query.limit, offset: 0 }
    const filter = {
      event: query.event,
      state: query.status,
      since: query.since,
      before: decodeCursor(query.cursor),
    }
    const [rows, counted] = await Promise.all([
      deliveries.listDeliveries(sql, orgId, filter, page.limit + 1),
      deliveries.countDeliveries(sql, orgId, filter, COUNT_LIMIT + 1),
    ])
    return listAnswer('deliveries', page, rows, counted, viewDelivery, ageKey)
  },
})
