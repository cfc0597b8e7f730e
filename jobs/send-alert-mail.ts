import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Sends a written mail to the billing contact, where a mail server is configured. */
export const sendAlertMail = job(
  'mail.send',
  { payload: shape({ mail_id: uuid() }) },
  {
    policy: 'exclusive',
    retryLimit: 10,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 600,
    expireInSeconds: 60,
    heartbeatSeconds: 10,
  },
)
