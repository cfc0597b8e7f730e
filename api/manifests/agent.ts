import Joi from 'joi'
import { shape, textReference } from '../../jobs/shape.ts'
import type { AgentRow } from '../../sql/manifests/agents.ts'
import { listAgentProjects } from '../../sql/manifests/agents.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { nullable, times } from '../fields.ts'
import type { ApiContext } from '../context.ts'
import { badRequest, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'
import { MANIFEST_STATUSES } from './manifest.ts'

const count = Joi.number().integer()

export const agentPath = shape({ agent_name: textReference() })

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

export function viewAgent(row: AgentRow) {
  const { manifest_versions: _, latest_manifest: latest, ...agent } = row
  // Its time comes as Postgres writes it in JSON.
  return {
    ...agent,
    latest_manifest: latest && { ...latest, created_at: new Date(latest.created_at) },
  }
}

/**
 * Finds an agent by name: in the project named, else in the only one that has it, else in the default one.
 * @throws ApiError 404 where no agent has the name, 400 where the project has to be named
 */
export async function findAgent(
  { sql }: ApiContext,
  principal: Principal,
  agentName: string,
  project: string | undefined,
): Promise<AgentKey> {
  const { orgId } = principal
  const visible = await readableProjects(sql, principal, project)
  const projects = await listAgentProjects(sql, orgId, visible, agentName)
  const [first] = projects
  if (!first) throw notFound('Agent')
  const chosen = projects.length === 1 ? first : projects.find(({ name }) => name === 'default')
  if (!chosen) {
    throw badRequest(`Several projects have an agent ${agentName}: name one in \`project\``)
  }
  return { orgId, projectId: chosen.id, agentName }
}
