import Joi from 'joi'
import { PRESETS, resolvePolicy, TRUSTS } from '../../jobs/rules/decision-policy.ts'
import type { Trust } from '../../jobs/rules/decision-policy.ts'
import { oneOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { insertPolicyVersion, listCurrentPolicies } from '../../sql/decision-policies.ts'
import type { PolicyRow } from '../../sql/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { projectField } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { policyBody, showPolicy } from './decision-fields.ts'

const share = () => Joi.number().min(0).max(1)
const weights = Object.fromEntries(TRUSTS.map((trust) => [trust, share()])) as Record<
  Trust,
  Joi.NumberSchema
>

export const setPolicy = endpoint('PUT', '/decision-policy', {
  area: 'eval-scores',
  summary: 'Set the decision policy of a project, or of one of its agents',
  description:
    'What is not named is as in the preset. Other settings make a new version; the same ones answer the version that holds. Decisions made already keep the version they name until the trace is judged again.',
  access: 'key',
  query: shape({}, { project: projectField }),
  body: shape(
    {},
    {
      preset: oneOf(...PRESETS).default('default'),
      thresholds: shape({}, { keep_at: share(), drop_at: share() }),
      source_weights: shape({}, weights),
      agent_name: text().min(1).allow(null).description("Null for the project's own policy"),
      project: projectField,
    },
  ).label('DecisionPolicyRequest'),
  answers: { 200: policyBody },
  async handle({ context, principal, query, body }) {
    const settings = resolvePolicy(body)
    if (settings.drop_at > settings.keep_at) {
      throw badRequest(
        `drop_at (${settings.drop_at}) must not be above keep_at (${settings.keep_at})`,
      )
    }
    const agent_name = body.agent_name ?? ''
    const policy = { agent_name, settings, created_by: principal.keyId }
    return context.sql.begin(async (tx: Transaction) => {
      const project = await writableProject(tx, principal, body.project ?? query.project)
      const inserted = await insertPolicyVersion(tx, principal.orgId, project.id, policy)
      if (inserted) return showPolicy(inserted)
      const current = await listCurrentPolicies(tx, principal.orgId, project.id)
      return showPolicy(current.find((each) => each.agent_name === agent_name) as PolicyRow)
    })
  },
})
