import { withQuery } from '../parts.ts'

/** The page of a trace. Ids repeat over projects, so that all but the default one are named. */
export function tracePath({ trace_id, project }: { trace_id: string; project: string }): string {
  return withQuery(`/console/traces/${encodeURIComponent(trace_id)}`, {
    project: project === 'default' ? undefined : project,
  })
}
