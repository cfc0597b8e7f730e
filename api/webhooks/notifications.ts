import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { EVENT_TYPES, REPORTED_DEFAULT } from '../../jobs/rules/webhooks/webhook-event.ts'
import type { Sql } from '../../sql/core/db.ts'
import { findNotificationSettings } from '../../sql/webhooks/notifications.ts'
import { nullable } from '../fields.ts'

export const notificationsBody = Joi.object({
  webhook_url: nullable(Joi.string()).description('null: nothing is sent'),
  events: listOf(Joi.string())
    .required()
    .description(
      'The selection as it was given. While none was ever made this reports a default of five events, and every event is sent.',
    ),
  events_configured: Joi.boolean().required().description('A selection was made'),
  all_events: listOf(Joi.string()).required(),
  signing_secret_configured: Joi.boolean().required(),
}).label('NotificationSettings')

export async function viewNotifications(sql: Sql, orgId: string) {
  const { webhook_url, events, secret } = await findNotificationSettings(sql, orgId)
  return {
    webhook_url,
    events: events ?? REPORTED_DEFAULT,
    events_configured: events !== null,
    all_events: EVENT_TYPES,
    signing_secret_configured: secret !== null,
  }
}
