import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Member, MemberType } from '../../../jobs/rules/import/backup/member.ts'

/** As `expressionOf`, of some members by name. */
export function columnsOf(kind: Kind, names: readonly string[]): string[] {
  return names.map((name) =>
    expressionOf(kind, kind.members.find((each) => each.name === name) as Member),
  )
}

/**
 * The expression of a member, over `scope` and what `sourceOf` names. A manifest that the backup has not is
 * null.
 */
export function expressionOf(kind: Kind, { name, type, column }: Member): string {
  const own = SPECIAL[`${kind.name}.${name}`]
  if (own !== undefined) return own
  if (type === 'manifest') {
    return `(select ${MANIFEST_KEY} from manifests m
        where m.org_id = t.org_id and m.id = t.${column} and m.created_at <= scope.until)`
  }
  if (type === 'manifests') {
    return `(select coalesce(json_agg(${MANIFEST_KEY} order by m.agent_name, m.manifest_hash), '[]')
        from manifests m
        where m.org_id = t.org_id and m.id = any(t.${column}) and m.created_at <= scope.until)`
  }
  return REFERRED[type] ?? `t.${column}`
}

const REFERRED: Readonly<Partial<Record<MemberType, string>>> = {
  workspace: 'w.name',
  project: 'p.name',
  skill: 's.name',
  dataset: 'd.name',
  skill_version: 'v.version_number',
  public_skill: 'g.url_slug',
  public_version: 'u.version_number',
  blob: 'b.content',
  components: `(select coalesce(json_agg(json_build_object('component_type', c.component_type,
      'component_name', c.component_name, 'component_version', c.component_version,
      'content_hash', c.content_hash, 'schema_json', c.schema_json)
      order by c.component_type, c.component_name), '[]')
    from manifest_components c where c.org_id = t.org_id and c.manifest_id = t.id)`,
}

const MANIFEST_KEY = `jsonb_build_object('agent_name', m.agent_name, 'manifest_hash', m.manifest_hash)`

/** The manifests of a line's project whose ids stand in JSON at a path. */
const manifestsAt = (json: string, path: string) => `(
  select coalesce(json_agg(${MANIFEST_KEY} || jsonb_build_object('id', m.id)
    order by m.agent_name, m.manifest_hash), '[]')
  from manifests m
  where m.org_id = t.org_id and m.project_id = p.id and m.created_at <= scope.until
    and m.id = any(array(select (id #>> '{}')::uuid from jsonb_path_query(${json}, '${path}') id)))`

/** By kind and member. */
const SPECIAL: Readonly<Record<string, string>> = {
  'dataset_version.manifests_within': manifestsAt('t.recipe', '$.filters.manifest_ids[*]'),
  'replay_batch.manifests_within': manifestsAt('t.filters', '$.manifest_ids[*]'),
  'regression_series.manifests_within': manifestsAt('t.versions', '$[*].manifest_id'),
  'replay_task.status': `case t.status when 'leased' then 'pending' else t.status end`,
  'trace.manifest_id': `(select m.id from manifests m
    where m.org_id = t.org_id and m.id = t.manifest_id and m.created_at <= scope.until)`,
}
