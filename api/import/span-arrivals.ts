import type { NewScore } from '../../jobs/rules/evals/score.ts'
import type { ReadSpan } from '../../jobs/rules/import/format.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { findProjects, findWritableProject, namingOf } from '../projects.ts'

/** Spans of one trace that a request brought. */
export interface SpanArrival {
  readonly principal: Principal
  readonly traceId: string
  /** Id or name of the project; undefined for the key's. */
  readonly project: string | undefined
  readonly spans: readonly ReadSpan[]
  readonly scores: readonly NewScore[]
  /** About what they bring to the statement that stores them, in bytes. */
  readonly size: number
}

/** What became of the spans of one trace that a request brought. */
export type SpansOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: Error }

export type Told = readonly [SpanArrival, SpansOutcome]

/** A trace that spans have come for, in one request or in several. */
export interface ArrivedTrace {
  readonly orgId: string
  /** Null where storing it makes the project. */
  readonly projectId: string | null
  readonly traceId: string
  /** In the order in which they came; one at least. */
  readonly arrivals: readonly SpanArrival[]
}

/** Finds the projects that arrivals of one organization go to, and puts those of one trace together. */
export async function groupArrivals(sql: Queryable, arrivals: readonly SpanArrival[]) {
  const projects = await findProjects(arrivals, (arrival) => findProjectId(sql, arrival))
  const traces = new Map<string, SpanArrival[]>()
  const told: Told[] = []
  for (const arrival of arrivals) {
    const naming = namingOf(arrival)
    const project = projects.get(naming)
    if (project instanceof ApiError) {
      told.push([arrival, { kind: 'failed', error: project }])
      continue
    }
    const key = JSON.stringify([project, project === null && naming, arrival.traceId])
    const group = traces.get(key)
    if (group) group.push(arrival)
    else traces.set(key, [arrival])
  }
  const grouped = [...traces.values()].map((each) => traceOf(each, projects))
  return { traces: grouped, told }
}

function traceOf(arrivals: readonly SpanArrival[], projects: ReadonlyMap<string, unknown>) {
  const [first] = arrivals as [SpanArrival]
  const projectId = projects.get(namingOf(first)) as string | null
  const { traceId, principal } = first
  return { orgId: principal.orgId, projectId, traceId, arrivals } satisfies ArrivedTrace
}

async function findProjectId(sql: Queryable, { principal, project }: SpanArrival) {
  try {
    return (await findWritableProject(sql, principal, project))?.id ?? null
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}
