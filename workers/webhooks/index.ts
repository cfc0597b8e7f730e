import { deliverWebhookHandler } from './deliver-webhook.ts'
import { sendAlertMailHandler } from './send-alert-mail.ts'

/** What does the jobs of the pool. */
export const handlers = [deliverWebhookHandler, sendAlertMailHandler]
