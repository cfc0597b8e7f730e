import Joi from 'joi'
import { round4 } from '../../jobs/rules/core/round.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import type { SkillUse } from '../../jobs/rules/skills/skill-use.ts'
import { int, textReference } from '../../jobs/shape.ts'
import { MAX_TRACES } from '../../sql/skills/skill-uses.ts'
import type { UseFilter } from '../../sql/skills/skill-uses.ts'
import type { ApiContext } from '../context.ts'
import { nullable, projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

/** What the operations share that tell how skills do in recorded traffic. */

export const analyticsQuery = {
  agent_name: textReference().description('Default any; of the newest uses, those by this agent'),
  days: int(1, 365).default(90).description('Back from now; also as `window_days`'),
  project: projectField,
}

export const READ = `Read from the newest ${MAX_TRACES} traces of each skill, so that it takes as long however many there are; \`traces_are_capped\` tells where there may be more.`

export const useFields = {
  traces: Joi.number().integer().required().description('Of the newest that used it'),
  traces_are_capped: Joi.boolean().required(),
  judged: Joi.number()
    .integer()
    .required()
    .description('Traces whose scores come to pass, review or fail'),
  pass_rate: mean('Of the judged traces; review is half a pass'),
  avg_quality: mean('0 to 1'),
  tokens: mean('Of a trace, input and output'),
}

export function viewUse(use: SkillUse) {
  return {
    traces: use.traces,
    traces_are_capped: use.is_capped,
    judged: use.judged,
    pass_rate: round4(use.pass_rate),
    avg_quality: round4(use.quality),
    tokens: round4(use.tokens),
  }
}

/** @throws ApiError as `readableProjects` */
export async function useFilter(
  { sql, now }: ApiContext,
  principal: Principal,
  query: { agent_name?: string | undefined; days: number; project?: string | undefined },
): Promise<UseFilter> {
  return {
    orgId: principal.orgId,
    projectIds: await readableProjects(sql, principal, query.project),
    agentName: query.agent_name,
    since: new Date(now().getTime() - query.days * DAY_MS),
  }
}

/** Lets members of a query have the names that deployed clients give them. */
export function alsoNamed<S extends Joi.ObjectSchema>(
  query: S,
  names: Readonly<Record<string, string>>,
): S {
  return Object.entries(names).reduce(
    (schema, [name, member]) =>
      schema.rename(name, member, { ignoreUndefined: true, override: true }),
    query,
  )
}

function mean(description: string) {
  return nullable(Joi.number()).description(`${description}; null where none tells`)
}
