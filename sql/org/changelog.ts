import { isFixture } from '../manifests/agents.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

export type ChangelogType = 'manifest' | 'regression' | 'audit' | 'training'

/** Something that happened in an organization. */
export interface ChangelogRow {
  id: string
  type: ChangelogType
  event_type: string
  /** Null for what is about no project. */
  project_id: string | null
  /** Null for what is about no agent. */
  agent_name: string | null
  actor_type: 'api_key' | 'operator' | 'system'
  actor_id: string | null
  /** The label of the key that acted. */
  actor_name: string | null
  resource_type: string
  resource_id: string
  data: Record<string, unknown>
  is_fixture: boolean
  occurred_at: Date
}

export interface ChangelogFilter {
  /** Null for all projects of the organization, audit events included. */
  readonly projectIds: readonly string[] | null
  readonly types: readonly ChangelogType[]
  /** Occurred after. */
  readonly since?: Date | undefined
  readonly before?: AgeKey | undefined
  readonly includeFixtures: boolean
  readonly limit: number
}

/** Newest first. */
export async function listChangelog(sql: Queryable, orgId: string, filter: ChangelogFilter) {
  const sources = filter.types.flatMap((type) => SOURCES[type](sql, orgId, filter))
  const [first, ...rest] = sources.map((source) => newestOf(sql, orgId, source, filter))
  if (!first) return []
  return sql<ChangelogRow[]>`
    select id, type, event_type, project_id, agent_name, actor_type, actor_id, actor_name,
      resource_type, resource_id, data, is_fixture, occurred_at
    from (${rest.reduce((all, source) => sql`${all} union all ${source}`, first)}) events
    order by occurred_at desc, id desc limit ${filter.limit}`
}

/** A source has the members of `ChangelogRow` but for `is_fixture`, and `org_id`. */
const SOURCES: Readonly<
  Record<ChangelogType, (sql: Queryable, orgId: string, filter: ChangelogFilter) => Fragment[]>
> = {
  manifest: (sql, orgId, { projectIds }) => [
    sql`
      select md5(concat_ws(' ', a.project_id, a.agent_name, a.ordinal))::uuid as id,
        'manifest' as type,
        'manifest.' || a.kind as event_type,
        a.org_id, a.project_id, a.agent_name, ${actorOf(sql, sql`a.created_by`)},
        'manifest' as resource_type, a.manifest_id as resource_id,
        jsonb_build_object('version_label', 'v' || m.version_number,
          'previous_version_label', 'v' || p.version_number,
          'manifest_hash', m.shown_hash) as data,
        a.activated_at as occurred_at
      from manifest_activations a
      join manifests m on m.org_id = a.org_id and m.id = a.manifest_id
      left join manifests p on p.org_id = a.org_id and p.id = a.previous_manifest_id
      where a.org_id = ${orgId} and a.kind <> 'created'
        ${inProjects(sql, sql`a.project_id`, projectIds)}`,
    sql`
      select m.id, 'manifest', 'manifest.registered', m.org_id, m.project_id, m.agent_name,
        ${actorOf(sql, sql`m.created_by`)}, 'manifest', m.id,
        jsonb_build_object('version_label', 'v' || m.version_number,
          'previous_version_label', 'v' || p.version_number,
          'manifest_hash', m.shown_hash,
          'status', case when exists (
              select from manifest_activations a
              where a.org_id = m.org_id and a.project_id = m.project_id
                and a.agent_name = m.agent_name and a.manifest_id = m.id and a.kind = 'created')
            then 'active' else 'draft' end),
        m.created_at as occurred_at
      from manifests m
      left join manifests p on p.org_id = m.org_id and p.id = m.parent_manifest_id
      where m.org_id = ${orgId} ${inProjects(sql, sql`m.project_id`, projectIds)}`,
  ],
  regression: (sql, orgId, { projectIds }) => [
    sql`
      select r.id, 'regression', 'regression.checked', r.org_id, r.project_id, r.agent_name,
        ${actorOf(sql, sql`r.created_by`)}, 'regression_check', r.id,
        jsonb_build_object('verdict', r.verdict, 'pr_context', r.pr_context,
          'candidate_manifest_id', r.candidate_manifest_id,
          'candidate_version_label', 'v' || c.version_number,
          'baseline_manifest_id', r.baseline_manifest_id),
        r.completed_at as occurred_at
      from regression_checks r
      join manifests c on c.org_id = r.org_id and c.id = r.candidate_manifest_id
      where r.org_id = ${orgId} and r.completed_at is not null
        ${inProjects(sql, sql`r.project_id`, projectIds)}`,
    sql`
      select md5(r.id || ' decided')::uuid, 'regression', 'regression.' || r.human_decision, r.org_id,
        r.project_id, r.agent_name, 'api_key', r.decided_by, 'regression_check', r.id,
        jsonb_build_object('verdict', r.verdict, 'note', r.decision_note,
          'candidate_manifest_id', r.candidate_manifest_id,
          'candidate_version_label', 'v' || c.version_number),
        r.decided_at as occurred_at
      from regression_checks r
      join manifests c on c.org_id = r.org_id and c.id = r.candidate_manifest_id
      where r.org_id = ${orgId} and r.decided_at is not null
        ${inProjects(sql, sql`r.project_id`, projectIds)}`,
    sql`
      select f.id, 'regression', 'regression.detected', f.org_id, f.project_id, f.agent_name,
        'system', null::uuid, 'regression_finding', f.id, ${findingData(sql)},
        f.detected_at as occurred_at
      from regression_findings f
      where f.org_id = ${orgId} ${inProjects(sql, sql`f.project_id`, projectIds)}`,
    sql`
      select md5(f.id || ' resolved')::uuid, 'regression', 'regression.resolved', f.org_id,
        f.project_id, f.agent_name, ${actorOf(sql, sql`f.resolved_by`)}, 'regression_finding', f.id,
        ${findingData(sql)} || jsonb_build_object('resolution', f.resolution),
        f.resolved_at as occurred_at
      from regression_findings f
      where f.org_id = ${orgId} and f.resolved_at is not null
        ${inProjects(sql, sql`f.project_id`, projectIds)}`,
  ],
  audit: (sql, orgId, { projectIds }) =>
    projectIds
      ? []
      : [
          sql`
            select a.id, 'audit', a.action as event_type, a.org_id, null::uuid as project_id,
              null::text as agent_name,
              case when a.actor_key_id is null then 'operator' else 'api_key' end as actor_type,
              a.actor_key_id as actor_id, a.resource_type, a.resource_id, a.data, a.occurred_at
            from audit_events a where a.org_id = ${orgId}`,
        ],
  training: (sql, orgId, { projectIds }) => [
    sql`
      select v.id, 'training' as type, 'dataset_version.ready' as event_type, v.org_id, d.project_id,
        d.training_target_agent as agent_name, 'api_key' as actor_type, v.created_by as actor_id,
        'dataset_version' as resource_type, v.id as resource_id,
        jsonb_build_object('dataset_id', d.id, 'dataset_name', d.name,
          'dataset_type', d.dataset_type, 'version_label', 'v' || v.version_number,
          'row_count', v.row_count) as data,
        date_trunc('milliseconds', v.ready_at) as occurred_at
      from dataset_versions v join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
      where v.org_id = ${orgId} and v.ready_at is not null
        ${inProjects(sql, sql`d.project_id`, projectIds)}`,
    sql`
      select s.id, 'training', 'training.dataset_stale', s.org_id, d.project_id, m.agent_name,
        ${actorOf(sql, sql`s.created_by`)}, 'dataset_version', s.version_id,
        jsonb_build_object('dataset_id', d.id, 'dataset_name', d.name,
          'dataset_type', d.dataset_type, 'version_label', 'v' || v.version_number,
          'manifest_id', s.manifest_id, 'manifest_version_label', 'v' || m.version_number,
          'previous_manifest_id', s.previous_manifest_id,
          'previous_version_label', 'v' || p.version_number),
        s.occurred_at
      from dataset_staleness_events s
      join dataset_versions v on v.org_id = s.org_id and v.id = s.version_id
      join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
      join manifests m on m.org_id = s.org_id and m.id = s.manifest_id
      join manifests p on p.org_id = s.org_id and p.id = s.previous_manifest_id
      where s.org_id = ${orgId} ${inProjects(sql, sql`d.project_id`, projectIds)}`,
  ],
}

/** Each source is limited by itself, so that none is sorted whole for one page. */
function newestOf(sql: Queryable, orgId: string, source: Fragment, filter: ChangelogFilter) {
  const { since, before, includeFixtures, limit } = filter
  const agent = isFixture(sql, orgId, sql`s.project_id`, sql`s.agent_name`)
  const fixture = sql`(s.agent_name is not null and ${agent})`
  return sql`(
    select s.id, s.type, s.event_type, s.project_id, s.agent_name, s.actor_type, s.actor_id,
      k.label as actor_name, s.resource_type, s.resource_id, s.data, s.occurred_at,
      ${fixture} as is_fixture
    from (${source}) s (id, type, event_type, org_id, project_id, agent_name, actor_type, actor_id,
      resource_type, resource_id, data, occurred_at)
    left join api_keys k on k.org_id = s.org_id and k.id = s.actor_id
    where true
      ${since ? sql`and s.occurred_at > ${since}` : sql``}
      ${isOlder(sql, sql`(s.occurred_at, s.id)`, before)}
      ${includeFixtures ? sql`` : sql`and not ${fixture}`}
    order by s.occurred_at desc, s.id desc limit ${limit})`
}

/** Type and id of who acted, by the id of their key, which is null where no person did. */
function actorOf(sql: Queryable, keyId: Fragment) {
  return sql`case when ${keyId} is null then 'system' else 'api_key' end as actor_type,
    ${keyId} as actor_id`
}

function findingData(sql: Queryable) {
  return sql`jsonb_build_object('metric', f.metric, 'version_label', f.version_label,
    'previous_version_label', f.previous_version_label, 'manifest_id', f.manifest_id,
    'delta', f.delta)`
}
