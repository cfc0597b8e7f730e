import { listAgentProjects } from '../../sql/agents.ts'
import type { AgentKey } from '../../sql/manifests.ts'
import type { ApiContext } from '../context.ts'
import { badRequest, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

/**
 * The agent of a name: in the project named, else in the only one that has it, else in the default one.
 * @throws ApiError 404 where nobody of that name was ever seen, 400 where the project has to be named
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
