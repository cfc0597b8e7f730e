import type { Component, Manifest } from '../../jobs/rules/manifests/manifest.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'

/** A manifest as the rules read it, with its id. */
export interface StoredManifest extends Manifest {
  readonly id: string
}

/** In byte order of type and name. */
export async function listComponents(sql: Queryable, orgId: string, manifestId: string) {
  return sql<Component[]>`
    select component_type, component_name, component_version, content_hash, schema_json
    from manifest_components
    where org_id = ${orgId} and manifest_id = ${manifestId}
    order by component_type collate "C", component_name collate "C"`
}

/** The manifests with these ids, as far as they exist, with their components. */
export async function listStoredManifests(sql: Queryable, orgId: string, ids: readonly string[]) {
  return sql<StoredManifest[]>`
    select m.id, m.is_closed_world, coalesce((
      select jsonb_agg(jsonb_build_object('component_type', component_type,
          'component_name', component_name, 'component_version', component_version,
          'content_hash', content_hash, 'schema_json', schema_json)
        order by component_type collate "C", component_name collate "C")
      from manifest_components c where c.org_id = m.org_id and c.manifest_id = m.id), '[]') as components
    from manifests m
    where m.org_id = ${orgId} and m.id = any(${ids}::uuid[])`
}

/** Two manifests with their components; undefined for one that does not exist. */
export async function findStoredPair(
  sql: Queryable,
  orgId: string,
  beforeId: string,
  afterId: string,
) {
  const stored = await listStoredManifests(sql, orgId, [beforeId, afterId])
  const find = (wanted: string) => stored.find(({ id }) => id === wanted)
  return { before: find(beforeId), after: find(afterId) }
}

/** Inserts the components of a new manifest. */
export async function insertComponents(
  tx: Transaction,
  orgId: string,
  manifestId: string,
  components: readonly Component[],
) {
  await tx`
    insert into manifest_components (org_id, manifest_id, component_type, component_name,
      component_version, content_hash, schema_json)
    select ${orgId}, ${manifestId}, component_type, component_name, component_version, content_hash,
      schema_json
    from json_populate_recordset(null::manifest_components, ${jsonText(components)}::text::json)`
}
