import Joi from 'joi'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import { listAttempts } from '../../sql/webhooks/delivery-attempts.ts'
import { findDelivery } from '../../sql/webhooks/deliveries.ts'
import type { DeliveryRow } from '../../sql/webhooks/deliveries.ts'
import type { Sql } from '../../sql/core/db.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'

export const DELIVERY_STATES = [
  'pending',
  'attempting',
  'retry_wait',
  'delivered',
  'failed',
] as const

export const deliveryPath = shape({ delivery_id: uuidReference() })

const deliveryFields = {
  id: Joi.string()
    .guid()
    .required()
    .description('Sent as X-Service-Event-Id, the same on each attempt'),
  event: Joi.string().required(),
  status: Joi.string()
    .valid(...DELIVERY_STATES)
    .required(),
  attempt_count: Joi.number().integer().required(),
  max_attempts: Joi.number().integer().required(),
  error: nullable(Joi.string()).description(
    'Why the newest attempt failed, or `not_attempted`: none could begin',
  ),
  redelivery_of: nullable(Joi.string().guid()),
  created_at: times.required(),
  finished_at: nullable(times),
}
export const deliveryBody = Joi.object(deliveryFields).label('WebhookDelivery')

export const deliveryWithAttempts = Joi.object({
  ...deliveryFields,
  attempts: listOf(
    Joi.object({
      number: Joi.number().integer().required(),
      started_at: times.required(),
      duration_ms: nullable(Joi.number().integer()),
      status_code: nullable(Joi.number().integer()),
      error: nullable(Joi.string()),
      response_excerpt: nullable(Joi.string().allow('')),
    }).label('WebhookAttempt'),
  ).required(),
}).label('WebhookDeliveryWithAttempts')

export async function readWithAttempts(sql: Sql, orgId: string, id: string) {
  const delivery = await findDelivery(sql, orgId, id)
  if (!delivery) throw notFound('Delivery')
  return { ...viewDelivery(delivery), attempts: await listAttempts(sql, orgId, id) }
}

export function viewDelivery({ state, attempt_no, ...delivery }: DeliveryRow) {
  return { ...delivery, status: state, attempt_count: attempt_no }
}
