import { RARE_TRACES } from './scale-organization.ts'
import type { ScaleOrganization } from './scale-organization.ts'
import { TEMPLATES } from './scale-templates.ts'

/** Traces of one agent with the same session, and with the same rare word in their input. */
const SESSION_TRACES = 4

const KEY = ['org_id', 'project_id', 'period', 'trace_id']
/** Traces with the same task or user: more than a page, however many there are in all. */
const SHARING_TRACES = 64

/** SQL for words that `SESSION_TRACES` traces have, and that one in sixteen has. */
const OWN_WORDS = `'rare' || g / ${SESSION_TRACES} || ' common' || (hashint4(g) & 15)`

/** An SQL number that so many of the traces have, all over the time. */
const oneOf = (rows: number, seed: number, traces = SHARING_TRACES) =>
  `(hashint4(g + ${seed}) & 2147483647) % ${Math.ceil(rows / traces)}`

/** An SQL number from 0 to 1 that follows from a trace's id. */
const chance = (seed: number) => `((hashtext(trace_id || '${seed}') & 65535) / 65535.0)::float8`

/**
 * SQL for the columns that copies of a template `t` do not share with it, of trace number `g` out of
 * `rows`, whose manifest is `m`. They have started one after another, and came five seconds later.
 */
export function ownColumns({
  name,
  rows,
  owner,
  beganAt,
  endedAt,
}: ScaleOrganization): Record<string, string> {
  const spread = (endedAt.getTime() - beganAt.getTime()) / 1000 / rows
  const startedAt = `(timestamptz '${beganAt.toISOString()}' + g * ${spread} * interval '1 second')`
  const createdAt = `(${startedAt} + interval '5 seconds')`
  const idOf = (g: string) => `md5('${name}' || ${g})`
  return {
    org_id: `'${owner.org_id}'::uuid`,
    project_id: `'${owner.project_id}'::uuid`,
    period: `date_trunc('month', ${createdAt} at time zone 'UTC')::date`,
    trace_id: idOf('g'),
    manifest_id: 'm.id',
    manifest_hash: 'substr(m.manifest_hash, 8)',
    session_id: `'session-' || g / ${SESSION_TRACES}`,
    turn_index: `g % ${SESSION_TRACES}`,
    task_id: `'task-' || (${oneOf(rows, 7)})`,
    user_id: `'user-' || (${oneOf(rows, 3)})`,
    parent_trace_id: `case when g % 20 = 19 then ${idOf('(g - 1)')} end`,
    started_at: startedAt,
    ended_at: `(${startedAt} + interval '4 seconds')`,
    created_at: createdAt,
    content_hash: `sha256(('${name}' || g)::bytea)`,
    user_input_preview: `user_input_preview || ' ' || ${OWN_WORDS}`,
    tags: `case when ${oneOf(rows, 5, RARE_TRACES)} = 0 then t.tags || '{rare}' else t.tags end`,
  }
}

/**
 * SQL that stores traces `from` to `to`, exclusive, of an organization with all that is found in them:
 * decisions, four scores each, search documents, edges, violations and used skills. They stand in the table in
 * the order of their starts, as those that are sent: otherwise each size reads another number of blocks for as
 * many rows.
 * @param columns of `traces`
 */
export function storeRange(
  organization: ScaleOrganization,
  columns: readonly string[],
  [from, to]: readonly [number, number],
) {
  const own = ownColumns(organization)
  const values = columns.map((column) => own[column] ?? `t.${column}`)
  const copies = `generate_series(${from}, ${to - 1}) g
    join scale_templates t on t.n = g % ${TEMPLATES}`
  return `
    with ids as (
      insert into trace_ids (${KEY.join()}) select ${KEY.map((name) => own[name]).join()} from ${copies}
    ), stored as (
      insert into traces (${columns.join()})
      select ${values.join()}
      from ${copies}
      join manifests m on m.org_id = '${organization.owner.org_id}' and m.agent_name = t.agent_name
        and m.version_number = 1 + g::bigint * ${VERSIONS} / ${organization.rows}
      order by g
      returning org_id, project_id, period, trace_id, agent_name, manifest_id, parent_trace_id, started_at
    ), judged as (${verdicts(organization.rows)}), scored as (${SCORES}), indexed as (${documents(own, copies)}), linked as (${EDGES}),
    violated as (${VIOLATIONS}), used as (${SKILL_USES})
    select count(*) from stored`
}

/** Versions of the manifest of each agent, one after another. */
export const VERSIONS = 8

/** `RARE_TRACES` are to be replayed. */
const verdicts = (rows: number) => `
  insert into verdicts (org_id, project_id, period, trace_id, agent_name, started_at, verdict,
    needs_review, quality_avg, eval_verdict, reason_code, reasons, policy_agent_name, policy_version)
  select org_id, project_id, period, trace_id, agent_name, started_at,
    case when (hashtext(trace_id) & 2147483647) % ${Math.ceil(rows / RARE_TRACES)} = 0 then 'replay'
      when ${chance(1)} < 0.7 then 'keep' when ${chance(1)} < 0.8 then 'repair' else 'drop' end,
    ${chance(2)} < 0.1, ${chance(3)},
    case when ${chance(3)} > 0.7 then 'pass' when ${chance(3)} > 0.4 then 'review' else 'fail' end,
    'score.good', '[{"code": "score.good", "rule": 12}]', '', 0
  from stored`

const SCORES = `
  insert into eval_scores (org_id, project_id, period, trace_id, name, source, score_id, value, data_type,
    passed, category, source_kind)
  select org_id, project_id, period, trace_id, name, source, gen_random_uuid(), value, 'numeric',
    value > 0.5, 'quality', source_kind
  from stored cross join lateral (values
    ('task_success', 'llm_judge', 'third_party', round(${chance(4)})),
    ('helpfulness', 'llm_judge', 'third_party', ${chance(5)}),
    ('completion', 'builtin', 'builtin', ${chance(6)}),
    ('latency', 'builtin', 'builtin', ${chance(7)})
  ) as score (name, source, source_kind, value)`

/** The words of the template and those of the trace; the former are not looked for again. */
const documents = (own: Readonly<Record<string, string>>, copies: string) => `
  insert into trace_search (org_id, project_id, period, trace_id, started_at, document, has_stems)
  select ${KEY.map((name) => own[name]).join()}, ${own['started_at']},
    t.document || search_document(${OWN_WORDS}), true
  from ${copies} order by g`

const EDGES = `
  insert into agent_edges (org_id, project_id, trace_id, parent, child, via, seen_at)
  select org_id, project_id, trace_id, 'support-bot', agent_name, 'parent_trace', started_at
  from stored where parent_trace_id is not null and agent_name <> 'support-bot'`

/** One trace in ten. */
const VIOLATIONS = `
  insert into contract_violations (org_id, project_id, id, agent_name, trace_id, manifest_id, kind,
    severity, subject, position, occurred_at)
  select org_id, project_id, gen_random_uuid(), agent_name, trace_id, manifest_id, 'tool_undeclared',
    'high', 'delete_everything', 0, started_at
  from stored where ${chance(8)} < 0.1`

/** Every trace uses one of 150 skills, some of them much more than others. */
const SKILL_USES = `
  insert into trace_skills (org_id, project_id, trace_id, skill_name, started_at)
  select org_id, project_id, trace_id, 'skill-' || floor(150 * ${chance(9)} * ${chance(9)}), started_at
  from stored`
