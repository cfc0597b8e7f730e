import type { Queryable } from '../core/db.ts'
import type { SealedSecret } from '../core/sealed-secret.ts'

export interface NotificationSettings {
  webhook_url: string | null
  events: string[] | null
  secret: Buffer | null
}

/** The settings, all null where nothing was ever set. */
export async function findNotificationSettings(
  sql: Queryable,
  orgId: string,
): Promise<NotificationSettings> {
  const [row] = await sql<NotificationSettings[]>`
    select webhook_url, events, secret from notification_settings where org_id = ${orgId}`
  return row ?? { webhook_url: null, events: null, secret: null }
}

/** Where the events of an organization go; undefined when nothing was ever set. */
export async function findReceiver(sql: Queryable, orgId: string) {
  const [row] = await sql<
    { org_name: string; webhook_url: string | null; events: string[] | null }[]
  >`
    select o.name as org_name, s.webhook_url, s.events
    from organizations o join notification_settings s on s.org_id = o.id
    where o.id = ${orgId}`
  return row
}

/** Changes only the members given. */
export async function upsertNotificationSettings(
  sql: Queryable,
  orgId: string,
  change: { webhook_url?: string | null | undefined; events?: string[] | undefined },
) {
  const { webhook_url = null, events = null } = change
  await sql`
    insert into notification_settings (org_id, webhook_url, events)
    values (${orgId}, ${webhook_url}, ${events})
    on conflict (org_id) do update set
      webhook_url = ${change.webhook_url === undefined ? sql`notification_settings.webhook_url` : sql`excluded.webhook_url`},
      events = ${change.events === undefined ? sql`notification_settings.events` : sql`excluded.events`},
      updated_at = now()`
}

/** @param secret sealed, or null to send unsigned */
export async function setWebhookSecret(sql: Queryable, orgId: string, secret: Buffer | null) {
  await sql`
    insert into notification_settings (org_id, secret) values (${orgId}, ${secret})
    on conflict (org_id) do update set secret = excluded.secret, updated_at = now()`
}

/** The sealed secrets of the organizations after one, by its id. */
export async function listWebhookSecrets(
  sql: Queryable,
  after: SealedSecret | null,
  limit: number,
) {
  return sql<SealedSecret[]>`
    select org_id, secret from notification_settings
    where secret is not null ${after ? sql`and org_id > ${after.org_id}` : sql``}
    order by org_id limit ${limit}`
}

/** Replaces a sealed secret by the same one sealed anew; false when it was changed meanwhile. */
export async function replaceWebhookSecret(sql: Queryable, from: SealedSecret, to: Buffer) {
  const updated = await sql`
    update notification_settings set secret = ${to}
    where org_id = ${from.org_id} and secret = ${from.secret}`
  return updated.count === 1
}
