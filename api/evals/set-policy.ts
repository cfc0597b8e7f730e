import Joi from 'joi'
import { decideTraces } from '../../jobs/decide-traces.ts'
import { PRESETS } from '../../jobs/rules/evals/decision-policy.ts'
import type { Trust } from '../../jobs/rules/evals/decision-policy.ts'
import { oneOf, shape, text } from '../../jobs/shape.ts'
import { onlyRow } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertPolicyVersion, listCurrentPolicies } from '../../sql/evals/decision-policies.ts'
import { endpoint } from '../endpoint.ts'
import { nullable, projectField, projectQuery } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { admitJob } from '../admit-job.ts'
import { policyBody, resolveSettings, viewPolicy } from './policy.ts'

const share = () => Joi.number().min(0).max(1)
const weights = {
  human: share(),
  verifier: share(),
  third_party: share(),
  custom: share(),
  builtin: share(),
} satisfies Record<Trust, Joi.NumberSchema>

export const setPolicy = endpoint('PUT', '/decision-policy', {
  summary: 'Set the decision policy of a project, or of one of its agents',
  description:
    'What is not named is as in the preset. Other settings make a new version, by which a job decides anew on all traces the policy is for; until it comes to a trace, its decision keeps the version it names. The same settings answer the version that holds.',
  access: 'key',
  query: projectQuery,
  body: shape(
    {},
    {
      preset: oneOf(...PRESETS).default('default'),
      thresholds: shape({}, { keep_at: share(), drop_at: share() }),
      source_weights: shape({}, weights),
      agent_name: text().min(1).allow(null).description("Null for the project's own policy"),
      project: projectField,
    },
  )
    .label('DecisionPolicyRequest')
    .example({ preset: 'default', thresholds: { keep_at: 0.75 } }),
  answers: {
    200: policyBody
      .keys({
        job_id: nullable(Joi.string().guid()).description(
          'What decides anew on the traces; null where nothing has changed',
        ),
      })
      .label('SetDecisionPolicy'),
  },
  async handle({ context, principal, query, body }) {
    const settings = resolveSettings(body)
    const agent_name = body.agent_name ?? ''
    const policy = { agent_name, settings, created_by: principal.keyId }
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const { id: projectId } = await writableProject(tx, principal, query.project)
      const inserted = await insertPolicyVersion(tx, principal.orgId, projectId, policy)
      if (inserted) {
        const { version } = inserted
        const payload = { project_id: projectId, policy: { agent_name, version } }
        const job_id = await admitJob(context, tx, principal, decideTraces, payload, { projectId })
        return { ...viewPolicy(inserted), job_id }
      }
      const current = await listCurrentPolicies(tx, principal.orgId, projectId)
      const held = onlyRow(current.filter((each) => each.agent_name === agent_name))
      return { ...viewPolicy(held), job_id: null }
    })
  },
})
