import { createTransport } from 'nodemailer'
import type { Mailer } from '../workers/runtime/context.ts'

/** @param smtpUrl `smtp://` or `smtps://` with credentials, if the server wants any */
export function openMailer(smtpUrl: string, from: string): Mailer {
  const url = new URL(smtpUrl)
  for (const name of ['connectionTimeout', 'greetingTimeout', 'socketTimeout']) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, String(TIMEOUT_MS))
  }
  const transport = createTransport(url.href)
  return {
    async send({ id, recipient, subject, body }) {
      // The same id at each attempt, so that a mail sent twice can be recognized.
      const messageId = `<${id}@${url.hostname}>`
      await transport.sendMail({ from, to: recipient, subject, text: body, messageId })
    },
  }
}

const TIMEOUT_MS = 15_000
