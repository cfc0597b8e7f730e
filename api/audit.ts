import { randomUUIDv7 } from 'node:crypto'
import { insertAuditEvent } from '../sql/org/audit-events.ts'
import type { AuditEvent } from '../sql/org/audit-events.ts'
import type { Queryable } from '../sql/core/db.ts'
import type { Principal } from './principal.ts'

/** Records what the caller did to a resource, in the transaction that does it. */
export async function audit(
  tx: Queryable,
  { orgId, keyId }: Principal,
  action: AuditEvent['action'],
  resourceId: string,
  data: Record<string, unknown>,
) {
  await insertAuditEvent(tx, {
    id: randomUUIDv7(),
    org_id: orgId,
    action,
    actor_key_id: keyId,
    resource_id: resourceId,
    data,
  })
}
