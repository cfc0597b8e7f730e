import { endpoint } from '../endpoint.ts'
import { notificationsBody, viewNotifications } from './notifications.ts'

export const showNotifications = endpoint('GET', '/org/notifications', {
  summary: "Read the organization's notification settings",
  access: 'global-admin',
  answers: { 200: notificationsBody },
  handle: ({ context, principal }) => viewNotifications(context.sql, principal.orgId),
})
