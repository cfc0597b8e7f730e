import { order } from '../../jobs/rules/core/order.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { defaultName, writableProject } from '../projects.ts'
import type { SentTrace } from './sent-trace.ts'

/** A trace that was sent, and by whom. */
export interface Arrival extends SentTrace {
  readonly principal: Principal
}

/** A trace with the project it goes to. */
export interface AssignedTrace {
  readonly arrival: Arrival
  readonly row: TraceRow & TraceKey
}

/**
 * Finds or creates the projects that traces go to, each of them once, in one order, so that two transactions
 * never wait for each other. An error is the answer for a trace.
 */
export async function assignProjects(tx: Transaction, arrivals: readonly Arrival[]) {
  const named = new Map(arrivals.map((arrival) => [nameOf(arrival), arrival]))
  const projects = new Map<string, string | Error>()
  for (const [name, arrival] of [...named].sort(([a], [b]) => order(a, b))) {
    projects.set(name, await findProjectId(tx, arrival))
  }
  return arrivals.map((arrival): AssignedTrace | Error => {
    const project = projects.get(nameOf(arrival)) as string | Error
    if (project instanceof Error) return project
    const { principal, row } = arrival
    return { arrival, row: { ...row, org_id: principal.orgId, project_id: project } }
  })
}

/** What a key calls a project, which begins with the name that a new one gets. An empty name is none. */
function nameOf({ principal, project = '' }: Arrival) {
  return [project || defaultName(principal), project, principal.keyId].join('\0')
}

async function findProjectId(tx: Transaction, { principal, project }: Arrival) {
  try {
    return (await writableProject(tx, principal, project || undefined)).id
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
