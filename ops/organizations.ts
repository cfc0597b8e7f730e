import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { displayPrefix, hashKey, makeKey } from '../jobs/rules/access/api-key.ts'
import { insertKey } from '../sql/access/api-keys.ts'
import type { Queryable } from '../sql/core/db.ts'
import { insertOrganization } from '../sql/org/organizations.ts'
import type { Plan } from '../sql/org/organizations.ts'

export interface NewOrganization {
  readonly name: string
  readonly plan: Plan
  readonly billingContact?: string | undefined
  readonly prefix: string
  /** Raw key; default a new one. */
  readonly key?: string
}

/** An organization with workspace and project `default` and a global admin key. */
export async function createOrganization(sql: Queryable, org: NewOrganization) {
  const ids = { org_id: randomUUIDv7(), workspace_id: randomUUIDv7(), project_id: randomUUIDv7() }
  const { org_id: id, ...places } = ids
  const { name, plan, billingContact: billing_contact = null } = org
  await insertOrganization(sql, { id, ...places, name, plan, billing_contact })
  const { api_key } = await createKey(sql, org.prefix, {
    org_id: id,
    label: 'first key',
    scope: 'global',
    permissions: 'admin',
    workspace_id: null,
    project_id: null,
    expires_at: null,
    ...(org.key && { raw: org.key }),
  })
  return { ...ids, api_key }
}

/** Stores a key, a new one unless `raw` is given. */
export async function createKey(
  sql: Queryable,
  prefix: string,
  { raw = makeKey(prefix, randomBytes(64)), ...key }: NewKey,
) {
  const id = randomUUIDv7()
  await insertKey(sql, {
    ...key,
    id,
    key_hash: hashKey(raw),
    key_prefix: displayPrefix(prefix, raw),
  })
  return { id, api_key: raw }
}

type NewKey = Omit<Parameters<typeof insertKey>[1], 'id' | 'key_hash' | 'key_prefix'> & {
  raw?: string
}
