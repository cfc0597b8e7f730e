import { deliverWebhookHandler } from './deliver-webhook.ts'
import { sendAlertMailHandler } from './send-alert-mail.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [deliverWebhookHandler, sendAlertMailHandler]
