import Joi from 'joi'
import { shape, text } from '../../jobs/shape.ts'
import type { AgentRow } from '../../sql/agents.ts'
import { nullable, times } from '../fields.ts'
import { MANIFEST_STATUSES } from '../manifests/manifest-fields.ts'

const count = Joi.number().integer()

export const agentPath = shape({ agent_name: text() })

export const agentFields = {
  agent_name: Joi.string().required(),
  project_id: Joi.string().guid().required(),
  trace_count: count.required(),
  last_trace_at: nullable(times),
  unevaluated_count: count.required().description('Traces without a decision'),
  is_subagent: Joi.boolean().required().description('Another agent gives it work'),
  is_fixture: Joi.boolean().required(),
  latest_manifest: nullable(
    Joi.object({
      manifest_id: Joi.string().guid().required(),
      version_label: Joi.string().required(),
      manifest_hash: Joi.string().required(),
      status: Joi.string()
        .valid(...MANIFEST_STATUSES)
        .required(),
      created_at: times.required(),
    }).label('LatestManifest'),
  ),
}

export function showAgent(row: AgentRow) {
  const { manifest_versions: _, ...agent } = row
  return agent
}
