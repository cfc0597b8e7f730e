import Joi from 'joi'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { listOf, oneOf, shape } from '../../jobs/shape.ts'
import { findUrlFault, hostOf, isAllowedAddress } from '../../jobs/rules/core/outbound-address.ts'
import type { AllowedNetworks } from '../../jobs/rules/core/outbound-address.ts'
import { EVENT_TYPES } from '../../jobs/rules/webhooks/webhook-event.ts'
import { upsertNotificationSettings } from '../../sql/webhooks/notifications.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
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
    if (body.webhook_url) await refusePrivate(body.webhook_url, context.outboundNetworks)
    await upsertNotificationSettings(context.sql, principal.orgId, body)
    return viewNotifications(context.sql, principal.orgId)
  },
})

/**
 * Refuses an address that leads into a private network by now; each delivery checks again. A name that
 * does not resolve yet is accepted.
 */
async function refusePrivate(url: string, allowed: AllowedNetworks) {
  const host = hostOf(url)
  const addresses = isIP(host) ? [host] : await resolveAll(host)
  const local = host === 'localhost' || host.endsWith('.localhost')
  const loopback = local ? ['127.0.0.1', '::1'] : []
  if ([...addresses, ...loopback].some((address) => !isAllowedAddress(address, allowed))) {
    throw badRequest('webhook_url leads to an address that may not be reached')
  }
}

async function resolveAll(name: string) {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 1 })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

const DNS_TIMEOUT_MS = 1500
