import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { MemberType } from '../../../jobs/rules/import/backup/member.ts'

/**
 * The tables that the lines of a kind are made of, joined to `scope`: its own is `t`, and `p` (project), `w`
 * (workspace), `s` (skill), `v` (its version), `d` (dataset) and `b` (content of a file) are what it refers to, all of
 * which are in the backup too, and `g` and `u` a public skill and its version, which are not.
 */
export function sourceOf(kind: Kind): string {
  const isIn = [since(kind), CONDITIONS[kind.name]].filter((each) => each !== undefined)
  return [
    `join ${kind.table} t on ${['t.org_id = scope.org_id', ...isIn].join(' and ')}`,
    ...REFERENCES.filter(({ type }) => has(kind, type)).map(({ join }) => join(kind)),
  ].join('\n')
}

function since(kind: Kind) {
  return kind.since === null ? undefined : `t.${kind.since} <= scope.until`
}

function has({ members }: Kind, type: MemberType) {
  return members.some((member) => member.type === type)
}

const isVisible = (column: string) =>
  `(scope.project_ids is null or ${column} = any(scope.project_ids))`

/** A job makes the tasks of a batch, which is in a backup only after that. */
const isPrepared = (batch: string) => `(${batch}.is_linked or ${batch}.prepared_at <= scope.until)`

/** Of kinds of which a backup has not every row. */
const CONDITIONS: Readonly<Record<string, string>> = {
  workspace: '(scope.workspace_id is null or t.id = scope.workspace_id)',
  project: isVisible('t.id'),
  // Of one for a manifest that came later the backup has not what it tells: the trace is examined again.
  examination: `(t.target_manifest_id is null or exists (select from manifests m
    where m.org_id = t.org_id and m.id = t.target_manifest_id and m.created_at <= scope.until))`,
  skill: 't.deleted_at is null',
  // Without its version one that is pinned would say the latest.
  skill_assignment: `(t.version_id is null or exists (select from skill_versions n
    where n.org_id = t.org_id and n.id = t.version_id and n.created_at <= scope.until))`,
  // A skill that came from a backup has the id of the one that was published.
  public_skill_assignment: `not exists (select from skills o where o.org_id = t.org_id and o.id = t.skill_id)
    and (t.version_id is null or exists (select from registry_versions n
      where n.skill_id = t.skill_id and n.version_id = t.version_id))`,
  repair_failure: `exists (select from repair_batches r where r.org_id = t.org_id
    and r.id = t.batch_id and r.created_at <= scope.until and ${isVisible('r.project_id')})`,
  replay_batch: isPrepared('t'),
  replay_task: `exists (select from replay_batches r where r.org_id = t.org_id
    and r.id = t.batch_id and ${isPrepared('r')})`,
}

/** In an order in which each is found by those before it. */
const REFERENCES: readonly Reference[] = [
  {
    type: 'dataset',
    join: () =>
      'join datasets d on d.org_id = t.org_id and d.id = t.dataset_id and d.created_at <= scope.until',
  },
  {
    type: 'skill_version',
    // Left, for an assignment of the latest version.
    join: () =>
      'left join skill_versions v on v.org_id = t.org_id and v.id = t.version_id and v.created_at <= scope.until',
  },
  {
    type: 'skill',
    join: ({ table }) => `join skills s on s.org_id = t.org_id
      and s.id = ${table === 'skill_version_files' ? 'v' : 't'}.skill_id
      and s.deleted_at is null and s.created_at <= scope.until`,
  },
  {
    type: 'public_skill',
    join: () => 'join registry_slugs g on g.skill_id = t.skill_id',
  },
  {
    type: 'public_version',
    join: () =>
      'left join registry_versions u on u.skill_id = t.skill_id and u.version_id = t.version_id',
  },
  {
    type: 'blob',
    join: () => 'join skill_blobs b on b.org_id = t.org_id and b.sha256 = t.sha256',
  },
  {
    type: 'workspace',
    join: () => 'join workspaces w on w.org_id = t.org_id and w.id = t.workspace_id',
  },
  {
    type: 'project',
    join: (kind) => `join projects p on p.org_id = t.org_id
      and p.id = ${has(kind, 'dataset') ? 'd' : 't'}.project_id and ${isVisible('p.id')}`,
  },
]

interface Reference {
  readonly type: MemberType
  readonly join: (kind: Kind) => string
}
