import { hash } from 'node:crypto'
import type { Component } from '../../jobs/rules/manifests/manifest.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { jsonText, onlyRow } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'
import { insertComponents } from './manifest-components.ts'

export type ManifestStatus = 'draft' | 'active' | 'superseded'

/** A manifest without its components. */
export interface ManifestRow {
  id: string
  project_id: string
  agent_name: string
  version_number: number
  display_label: string | null
  /** `sha256:` and 64 digits. */
  manifest_hash: string
  /** The version label the client gave. */
  shown_hash: string
  contract_hash: string
  /** The version that was active when this one was registered, else the one before it; null for the first. */
  parent_manifest_id: string | null
  status: ManifestStatus
  /** No trace activates it while it is a draft. */
  is_held: boolean
  detection_source: string | null
  is_closed_world: boolean
  components_count: number
  metadata: Record<string, unknown>
  created_at: Date
}

/** An agent is known by its project and name. */
export interface AgentKey {
  readonly orgId: string
  readonly projectId: string
  readonly agentName: string
}

/** The condition that a row is of this agent. */
export function ofAgent(sql: Queryable, { orgId, projectId, agentName }: AgentKey) {
  return sql`org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agentName}`
}

/**
 * Locks an agent until the transaction ends: its versions are registered and activated one at a time.
 * Other agents of the project may share the lock, so a transaction locks one agent alone.
 */
export async function lockAgent(tx: Transaction, agent: AgentKey) {
  await tx`select pg_advisory_xact_lock(hashtextextended(${lockText(agent)}, 0))`
}

/** Prevents versions of these agents from being registered or activated before the transaction ends. */
export async function holdAgents(
  tx: Transaction,
  agents: readonly Pick<AgentKey, 'projectId' | 'agentName'>[],
) {
  if (agents.length === 0) return
  // Each lock once and in one order, so that two transactions never wait for each other.
  const texts = [...new Set(agents.map(lockText))].sort()
  await tx`
    select pg_advisory_xact_lock_shared(hashtextextended(agent, 0))
    from unnest(${texts}::text[]) as held (agent)`
}

export async function findManifest(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<ManifestRow[]>`
    select ${columns(sql)} from manifests m where m.org_id = ${orgId} and m.id = ${id}`
  return row
}

/** The version of the first hash that one has. @param hashes each `sha256:` and 64 digits */
export async function findManifestByHash(
  sql: Queryable,
  agent: AgentKey,
  hashes: readonly string[],
) {
  const [row] = await sql<ManifestRow[]>`
    select ${columns(sql)} from manifests m
    where ${ofAgent(sql, agent)} and m.manifest_hash = any(${hashes}::text[])
    order by array_position(${hashes}::text[], m.manifest_hash) limit 1`
  return row
}

export async function findActiveManifest(sql: Queryable, agent: AgentKey) {
  const [row] = await sql<ManifestRow[]>`
    select ${columns(sql)} from manifests m where ${ofAgent(sql, agent)} and m.status = 'active'`
  return row
}

/** The parent of the agent's next version: the active version, else the newest. */
export async function findNextParent(sql: Queryable, agent: AgentKey) {
  const [row] = await sql<ManifestRow[]>`
    select ${columns(sql)} from manifests m where ${ofAgent(sql, agent)}
    order by m.status = 'active' desc, m.version_number desc limit 1`
  return row
}

/** Ids of the manifests that are active, by agent name. */
export async function findActiveManifests(
  sql: Queryable,
  orgId: string,
  projectId: string,
  agentNames: readonly string[],
) {
  const rows = await sql<{ agent_name: string; id: string }[]>`
    select agent_name, id from manifests
    where org_id = ${orgId} and project_id = ${projectId} and status = 'active'
      and agent_name = any(${agentNames}::text[])`
  return new Map(rows.map(({ agent_name, id }) => [agent_name, id]))
}

export type NewManifest = Omit<
  ManifestRow,
  'version_number' | 'components_count' | 'created_at'
> & {
  components: readonly Component[]
  /** The id of the API key. */
  created_by: string
}

/** Inserts the next version of an agent, which the caller has locked. */
export async function insertManifest(tx: Transaction, agent: AgentKey, manifest: NewManifest) {
  const inserted = await tx<ManifestRow[]>`
    insert into manifests as m (org_id, project_id, id, agent_name, version_number, display_label,
      manifest_hash, shown_hash, contract_hash, parent_manifest_id, status, is_held,
      detection_source, is_closed_world, components_count, metadata, created_by)
    select ${agent.orgId}, ${agent.projectId}, ${manifest.id}, ${agent.agentName},
      coalesce(max(version_number), 0) + 1, ${manifest.display_label}::text, ${manifest.manifest_hash},
      ${manifest.shown_hash}, ${manifest.contract_hash}, ${manifest.parent_manifest_id}::uuid,
      ${manifest.status}, ${manifest.is_held}::boolean, ${manifest.detection_source}::text, ${manifest.is_closed_world}::boolean,
      ${manifest.components.length}::int, ${jsonText(manifest.metadata)}::text::jsonb,
      ${manifest.created_by}::uuid
    from manifests m where ${ofAgent(tx, agent)}
    returning ${columns(tx)}`
  await insertComponents(tx, agent.orgId, manifest.id, manifest.components)
  return onlyRow(inserted)
}

export async function setManifestStatus(
  tx: Transaction,
  orgId: string,
  id: string,
  status: ManifestStatus,
) {
  await tx`
    update manifests set status = ${status} where org_id = ${orgId} and id = ${id}`
}

/** Leaves the activation of a draft to a person or an accepted check. */
export async function holdDraft(tx: Transaction, orgId: string, id: string) {
  await tx`
    update manifests set is_held = true where org_id = ${orgId} and id = ${id}`
}

export interface ManifestFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  readonly status?: ManifestStatus | undefined
}

export interface ManifestPage {
  readonly limit: number
  readonly offset: number
  readonly before?: AgeKey | undefined
}

export type ListedManifest = ManifestRow & {
  traces_count: number
}

/** Newest first, which for one agent is by version. */
export async function listManifests(
  sql: Queryable,
  orgId: string,
  filter: ManifestFilter,
  page: ManifestPage,
) {
  return sql<ListedManifest[]>`
    with page as (
      select m.org_id, ${columns(sql)} from manifests m
      where ${matching(sql, orgId, filter)}
        ${isOlder(sql, sql`(m.created_at, m.id)`, page.before)}
      order by m.created_at desc, m.id desc limit ${page.limit} offset ${page.offset}
    ), counted as (
      select project_id, agent_name, manifest_id, manifest_hash, sum(n)::int8 as n
      from all_trace_counts
      where org_id = ${orgId}
        and (project_id, agent_name) in (select distinct project_id, agent_name from page)
      group by 1, 2, 3, 4
    )
    select ${columns(sql)}, coalesce(tied.n, 0) + coalesce(untied.n, 0) as traces_count
    from page m
    left join counted tied on tied.project_id = m.project_id and tied.agent_name = m.agent_name
      and tied.manifest_id = m.id::text
    left join counted untied on untied.project_id = m.project_id and untied.agent_name = m.agent_name
      and untied.manifest_id = '' and untied.manifest_hash = substr(m.manifest_hash, 8)
    order by m.created_at desc, m.id desc`
}

/** How many match, counted no further than `limit`. */
export async function countManifests(
  sql: Queryable,
  orgId: string,
  filter: ManifestFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`manifests m where ${matching(sql, orgId, filter)}`)
}

export function versionLabel({ version_number }: Pick<ManifestRow, 'version_number'>) {
  return `v${version_number}`
}

function matching(sql: Queryable, orgId: string, filter: ManifestFilter) {
  return sql`m.org_id = ${orgId}
    ${inProjects(sql, sql`m.project_id`, filter.projectIds)}
    ${filter.agentName === undefined ? sql`` : sql`and m.agent_name = ${filter.agentName}`}
    ${filter.status ? sql`and m.status = ${filter.status}` : sql``}`
}

/**
 * One of 256 texts of a project, whose id is unique in the whole database. A lock of its own for each agent
 * of a large import would exhaust the lock table of the server.
 */
function lockText({ projectId, agentName }: Pick<AgentKey, 'projectId' | 'agentName'>) {
  return `agents ${projectId} ${hash('sha256', agentName, 'buffer').readUInt8()}`
}

function columns(sql: Queryable) {
  return sql`m.id, m.project_id, m.agent_name, m.version_number, m.display_label, m.manifest_hash,
    m.shown_hash, m.contract_hash, m.parent_manifest_id, m.status, m.is_held,
    m.detection_source, m.is_closed_world, m.components_count, m.metadata, m.created_at`
}
