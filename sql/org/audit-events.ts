import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

export interface AuditEvent {
  id: string
  org_id: string
  action:
    | 'api_key.created'
    | 'api_key.revoked'
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
    | 'trace_period.dropped'
    | 'dataset.pushed'
    | 'import.pulled'
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
  const [resourceType = ''] = event.action.split('.')
  await sql`
    insert into audit_events (org_id, id, action, actor_key_id, resource_type, resource_id, data)
    values (${event.org_id}, ${event.id}, ${event.action}, ${event.actor_key_id},
      ${resourceType}, ${event.resource_id}, ${jsonText(event.data)}::text::jsonb)`
}
