import { arrayText } from '../core/array-text.ts'
import type { Queryable } from '../core/db.ts'
import { joinNamedManifest, tiedColumn } from '../traces/trace-inserts.ts'
import { ofTraces } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'
import { ofAgent } from './manifests.ts'
import type { AgentKey, ManifestRow } from './manifests.ts'

/**
 * Links up to `limit` traces of the agent that named the manifest's hash before it was registered, and
 * returns their ids. The caller has locked the agent, or runs after the registration.
 */
export async function linkNamedTraces(
  sql: Queryable,
  agent: AgentKey,
  manifest: Pick<ManifestRow, 'id' | 'manifest_hash'>,
  limit: number,
) {
  const rows = await sql<{ trace_id: string }[]>`
    update traces t set manifest_id = ${manifest.id}
    from (
      select period, trace_id from traces
      where ${ofAgent(sql, agent)} and manifest_id is null
        and manifest_hash = ${manifest.manifest_hash.slice('sha256:'.length)}
      order by trace_id limit ${limit} for update) named
    where t.org_id = ${agent.orgId} and t.project_id = ${agent.projectId}
      and t.period = named.period and t.trace_id = named.trace_id
    returning t.trace_id`
  return rows.map(({ trace_id }) => trace_id)
}

/**
 * Ties stored traces that have only the id or only the hash of a manifest, as `insertTraces` does, and
 * takes `sha256:` off their hashes, which processes of an earlier release leave on. Locks them in the
 * order of their ids, as judgement does. Returns the traces that it changed.
 */
export async function tieTraces(sql: Queryable, traces: readonly TraceKey[]) {
  const keys = [
    traces.map(({ org_id }) => org_id),
    traces.map(({ project_id }) => project_id),
    traces.map(({ trace_id }) => trace_id),
  ]
  return sql.unsafe<TraceKey[]>(TIE, keys.map(arrayText), { prepare: true })
}

/** A trace that names the hash of a manifest of its agent. */
export interface NamingTrace extends TraceKey {
  readonly agentName: string
  /** Without `sha256:` */
  readonly hash: string
}

/** Those whose manifest is registered by now. Most often none is, and each name is looked up once. */
export async function listRegistered<T extends NamingTrace>(sql: Queryable, traces: readonly T[]) {
  const named = Map.groupBy(traces, ({ org_id, project_id, agentName, hash }) =>
    JSON.stringify([org_id, project_id, agentName, hash]),
  )
  const groups = [...named.values()]
  const firsts = groups.map(([first]) => first as T)
  const found = await sql<{ place: number }[]>`
    select n.place::int
    from unnest(${firsts.map(({ org_id }) => org_id)}::uuid[],
      ${firsts.map(({ project_id }) => project_id)}::uuid[],
      ${firsts.map(({ agentName }) => agentName)}::text[],
      ${firsts.map(({ hash }) => hash)}::text[])
      with ordinality as n (org_id, project_id, agent_name, hash, place)
    where exists (
      select from manifests m
      where m.org_id = n.org_id and m.project_id = n.project_id and m.agent_name = n.agent_name
        and m.manifest_hash = 'sha256:' || n.hash)`
  return found.flatMap(({ place }) => groups[place - 1] ?? [])
}

/**
 * Drafts that are not held and under which production traces among these were recorded; imported ones
 * and fixtures do not count. The last condition spares reading traces in a project without such a draft.
 */
export async function listUsedDrafts(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<{ id: string }[]>`
    select distinct m.id
    from traces t
    join manifests m on m.org_id = t.org_id and m.id = t.manifest_id
      and m.project_id = t.project_id and m.agent_name = t.agent_name
    where ${ofTraces(sql, orgId, projectId, traceIds, sql`t.`)}
      and t.source_type = 'production' and not t.is_imported
      and not t.metadata @> '{"fixture": true}'
      and m.status = 'draft' and not m.is_held
      and exists (
        select from manifests d
        where d.org_id = ${orgId} and d.project_id = ${projectId} and d.status = 'draft' and not d.is_held)
    order by m.id`
}

const TIE = `
  with tied as (
    select t.org_id, t.project_id, t.period, t.trace_id, ${tiedColumn('manifest_id')} as manifest_id,
      ${tiedColumn('manifest_hash')} as manifest_hash, ${tiedColumn('metadata')} as metadata
    from (
      select org_id, project_id, period, trace_id, agent_name, manifest_id, metadata,
        nullif(regexp_replace(manifest_hash, '^sha256:', '', 'i'), '') as manifest_hash
      from unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[]) as k (org_id, project_id, trace_id)
      join trace_ids using (org_id, project_id, trace_id)
      join traces using (org_id, project_id, period, trace_id)
      where (manifest_id is null) <> (manifest_hash is null) or manifest_hash ilike 'sha256:%'
      order by org_id, project_id, trace_id for no key update of traces) t
    ${joinNamedManifest}
  )
  update traces t
  set manifest_id = n.manifest_id, manifest_hash = n.manifest_hash, metadata = n.metadata
  from tied n
  where t.org_id = n.org_id and t.project_id = n.project_id and t.period = n.period
    and t.trace_id = n.trace_id
    and (t.manifest_id, t.manifest_hash) is distinct from (n.manifest_id, n.manifest_hash)
  returning t.org_id, t.project_id, t.trace_id`
