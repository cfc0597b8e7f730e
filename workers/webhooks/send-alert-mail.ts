import { sendAlertMail } from '../../jobs/send-alert-mail.ts'
import { findUnsentMail, markMailSent } from '../../sql/mails.ts'
import { GiveUp } from '../give-up.ts'
import { handler } from '../handler.ts'

/** Sent at least once: a worker that is lost between sending and noting it makes it twice. */
export const sendAlertMailHandler = handler(sendAlertMail, async ({ mail_id }, run) => {
  const mail = await findUnsentMail(run.sql, run.orgId, mail_id)
  if (!mail) return
  if (!run.mailer) {
    const { subject } = mail
    run.log.warn(
      { org_id: run.orgId, mail_id, subject },
      'no mail server: the mail is recorded only',
    )
    return
  }
  try {
    await run.mailer.send({ ...mail, id: mail_id })
  } catch (error) {
    if (isRefusedForGood(error)) throw new GiveUp('mail_refused', (error as Error).message)
    throw error
  }
  await markMailSent(run.sql, run.orgId, mail_id)
})

/** The server's answer begins with 5 (RFC 5321): it will not be another one later. */
function isRefusedForGood(error: unknown) {
  const code = (error as { responseCode?: number }).responseCode
  return code !== undefined && code >= 500 && code < 600
}
