import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

export interface AuditEvent {
  id: string
  org_id: string
  action:
    | 'api_key.created'
    | 'api_key.revoked'
    | 'session.ended'
    | 'workspace.created'
    | 'project.created'
    | 'job.canceled'
    | 'job.redriven'
    | 'job.reprioritized'
    | 'organization.limited'
    | 'organization.unlimited'
    | 'organization.suspended'
    | 'organization.resumed'
    | 'organization.renamed'
    | 'webhook_secret.changed'
    | 'payment_customer.changed'
    | 'trace_period.dropped'
    | 'trace_retention.changed'
    | 'traces.deleted'
    | 'dataset.pushed'
    | 'import.pulled'
    | 'import.restored'
    | 'skill.published'
    | 'skill.unpublished'
    | 'skill.held'
    | 'skill.released'
    | 'skill.reviewed'
  /** Null for the operator. */
  actor_key_id: string | null
  resource_id: string
  data: Record<string, unknown>
}

export async function insertAuditEvent(sql: Queryable, event: AuditEvent) {
  await sql`${insertion(sql, event)}`
}

/** The same, or where there is an event of its id, as of work that goes on, tells what has become of it. */
export async function upsertAuditEvent(sql: Queryable, event: AuditEvent) {
  await sql`
    ${insertion(sql, event)} on conflict (org_id, id) do update set data = excluded.data`
}

function insertion(sql: Queryable, event: AuditEvent) {
  const [resourceType = ''] = event.action.split('.')
  return sql`
    insert into audit_events (org_id, id, action, actor_key_id, resource_type, resource_id, data)
    values (${event.org_id}, ${event.id}, ${event.action}, ${event.actor_key_id},
      ${resourceType}, ${event.resource_id}, ${jsonText(event.data)}::text::jsonb)`
}
