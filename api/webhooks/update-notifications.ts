import Joi from 'joi'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { findUrlFault } from '../../jobs/rules/core/outbound-address.ts'
import { EVENT_TYPES } from '../../jobs/rules/webhooks/webhook-event.ts'
import { upsertNotificationSettings } from '../../sql/webhooks/notifications.ts'
import { endpoint } from '../endpoint.ts'
import { refuseUnreachable } from '../unreachable.ts'
import { notificationsBody, viewNotifications } from './notifications.ts'

export const updateNotifications = endpoint('PATCH', '/org/notifications', {
  summary: "Change the organization's notification settings",
  description:
    'Changes only the members that are sent. The list of events is stored as given: sending back what GET reports as the default turns the events off that it leaves out.',
  access: 'global-admin',
  body: shape(
    {},
    {
      webhook_url: Joi.string()
        .custom((url: string, helpers) => {
          const fault = findUrlFault(url)
          return fault ? helpers.message({ custom: `{{#label}} ${fault}` }) : url
        })
        .allow(null),
      events: listOf(oneOf(...EVENT_TYPES)).max(100),
    },
  )
    .label('NotificationSettingsChange')
    .example({ webhook_url: 'https://example.com/hook', events: ['regression.detected'] }),
  answers: { 200: notificationsBody },
  async handle({ context, principal, body }) {
    if (body.webhook_url) {
      await refuseUnreachable('webhook_url', body.webhook_url, context.outboundNetworks)
    }
    await upsertNotificationSettings(context.sql, principal.orgId, body)
    return viewNotifications(context.sql, principal.orgId)
  },
})
