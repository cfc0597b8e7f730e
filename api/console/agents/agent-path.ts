import { withQuery } from '../parts.ts'

/** The page of an agent. Names repeat over projects, so that the project is named where it is known. */
export function agentPath({
  agent_name,
  project,
}: {
  agent_name: string
  /** Its id or name; undefined for the only one or the default one that has the agent. */
  project: string | undefined
}): string {
  return withQuery(`/console/agents/${encodeURIComponent(agent_name)}`, { project })
}
