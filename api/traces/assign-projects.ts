import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { findProjects, namingOf, writableProject } from '../projects.ts'
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

/** Finds or creates the projects that traces go to. An error is the answer for a trace. */
export async function assignProjects(tx: Transaction, arrivals: readonly Arrival[]) {
  const projects = await findProjects(arrivals, (arrival) => findProjectId(tx, arrival))
  return arrivals.map((arrival): AssignedTrace | Error => {
    const project = projects.get(namingOf(arrival)) as string | Error
    if (project instanceof Error) return project
    const { principal, row } = arrival
    return { arrival, row: { ...row, org_id: principal.orgId, project_id: project } }
  })
}

async function findProjectId(tx: Transaction, { principal, project }: Arrival) {
  try {
    // An empty name is none.
    return (await writableProject(tx, principal, project || undefined)).id
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
