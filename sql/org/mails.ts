import type { Queryable } from '../core/db.ts'

export interface Mail {
  recipient: string
  subject: string
  body: string
}

/** Writes a mail to the organization's billing contact. False when it has none. */
export async function insertMail(
  sql: Queryable,
  orgId: string,
  mail: { id: string; subject: string; body: string },
) {
  const inserted = await sql`
    insert into mails (org_id, id, recipient, subject, body)
    select id, ${mail.id}, billing_contact, ${mail.subject}, ${mail.body}
    from organizations where id = ${orgId} and billing_contact is not null`
  return inserted.count === 1
}

/** A mail that was not sent yet. */
export async function findUnsentMail(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<Mail[]>`
    select recipient, subject, body from mails
    where org_id = ${orgId} and id = ${id} and sent_at is null`
  return row
}

export async function markMailSent(sql: Queryable, orgId: string, id: string) {
  await sql`update mails set sent_at = now() where org_id = ${orgId} and id = ${id}`
}
