import { sendAlertMail } from '../../jobs/send-alert-mail.ts'
import { findUnsentMail, markMailSent } from '../../sql/org/mails.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { handler } from '../runtime/handler.ts'

/** Sends a mail at least once: twice when the worker is lost after sending and before marking it. */
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
    if (isRefusedForGood(error)) throw new GiveUp('mail_refused', error.message)
    throw error
  }
  await markMailSent(run.sql, run.orgId, mail_id)
})

/** A reply that begins with 5 is permanent (RFC 5321). */
function isRefusedForGood(error: unknown): error is Error {
  if (!(error instanceof Error && 'responseCode' in error)) return false
  const { responseCode: code } = error
  return typeof code === 'number' && code >= 500 && code < 600
}
