import { randomUUIDv7 } from 'node:crypto'
import type { Queryable } from '../sql/core/db.ts'
import { insertAuditEvent } from '../sql/org/audit-events.ts'
import type { AuditEvent } from '../sql/org/audit-events.ts'

/** Records what the operator did, who has no key. @param data its `label` or `name` is told to the organization */
export async function auditOperator(
  tx: Queryable,
  org_id: string,
  action: AuditEvent['action'],
  resource_id: string,
  data: Record<string, unknown>,
) {
  const event = { id: randomUUIDv7(), org_id, action, resource_id, data }
  await insertAuditEvent(tx, { ...event, actor_key_id: null })
}
