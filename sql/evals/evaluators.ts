import type { Check, CheckType, EvalType } from '../../jobs/rules/evals/evaluators.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

export interface EvaluatorRow {
  id: string
  project_id: string
  name: string
  /** `external`: clients push scores under its name; nothing runs here. */
  type: CheckType | 'external'
  eval_type: EvalType
  /** '' for every agent of the project. */
  agent_name: string
  display_name: string | null
  category: string | null
  description: string | null
  /** What a judge of the client is asked. */
  prompt_template: string | null
  /** The score from which on it passes, for the client that gives it; 0 to 1. */
  threshold: number | null
  config: Record<string, unknown>
  created_at: Date
}

/** The checks the judge has to run in a project. */
export async function listChecks(sql: Queryable, orgId: string, projectId: string) {
  return sql<Check[]>`
    select name, type, agent_name, config from evaluators
    where org_id = ${orgId} and project_id = ${projectId} and type <> 'external'
    order by name, agent_name`
}

/** The one of that name for that agent. */
export async function findEvaluator(
  sql: Queryable,
  orgId: string,
  { project_id, name, agent_name }: Pick<EvaluatorRow, 'project_id' | 'name' | 'agent_name'>,
) {
  const [row] = await sql<EvaluatorRow[]>`
    select ${columns(sql)} from evaluators
    where org_id = ${orgId} and project_id = ${project_id} and name = ${name}
      and agent_name = ${agent_name}`
  return row
}

/** By name. @param projectIds null for all projects of the organization */
export async function listEvaluators(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
) {
  return sql<EvaluatorRow[]>`
    select ${columns(sql)} from evaluators
    where org_id = ${orgId}
      ${inProjects(sql, sql`project_id`, projectIds)}
    order by name, agent_name, id limit ${MAX_EVALUATORS_SHOWN}`
}

/** How many a project has, and how many of them are patterns. */
export async function countEvaluators(sql: Queryable, orgId: string, projectId: string) {
  const [row] = await sql<[{ total: number; patterns: number }]>`
    select count(*)::int as total, (count(*) filter (where type = 'regex'))::int as patterns
    from evaluators where org_id = ${orgId} and project_id = ${projectId}`
  return row
}

/** Undefined when the project has one of that name for that agent already. */
export async function insertEvaluator(
  sql: Queryable,
  orgId: string,
  evaluator: Omit<EvaluatorRow, 'created_at'>,
) {
  const [row] = await sql<{ created_at: Date }[]>`
    insert into evaluators (org_id, project_id, id, name, type, eval_type, agent_name, display_name,
      category, description, prompt_template, threshold, config)
    select ${orgId}, project_id, id, name, type, eval_type, agent_name, display_name, category,
      description, prompt_template, threshold, config
    from json_populate_record(null::evaluators, ${jsonText(evaluator)}::text::json)
    on conflict (org_id, project_id, name, agent_name) do nothing
    returning created_at`
  return row?.created_at
}

/** False when there is none in these projects. */
export async function deleteEvaluator(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  id: string,
) {
  const deleted = await sql`
    delete from evaluators
    where org_id = ${orgId} and id = ${id}
      ${inProjects(sql, sql`project_id`, projectIds)}`
  return deleted.count === 1
}

function columns(sql: Queryable) {
  return sql`id, project_id, name, type, eval_type, agent_name, display_name, category, description,
    prompt_template, threshold, config, created_at`
}

const MAX_EVALUATORS_SHOWN = 1000
