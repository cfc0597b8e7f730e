import type { Area } from '../endpoint.ts'
import { listDeliveries } from './list-deliveries.ts'
import { receivePayment } from './receive-payment.ts'
import { redeliver } from './redeliver.ts'
import { showDelivery } from './show-delivery.ts'
import { showNotifications } from './show-notifications.ts'
import { testNotification } from './test-notification.ts'
import { updateNotifications } from './update-notifications.ts'

export const webhooks: Area = [
  showNotifications,
  updateNotifications,
  testNotification,
  listDeliveries,
  showDelivery,
  redeliver,
  receivePayment,
]
