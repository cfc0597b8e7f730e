import { withQuery } from '../parts.ts'

/** The page of a trace. Ids repeat over projects, so that all but the default one are named. */
export function tracePath({
  trace_id,
  project,
}: {
  trace_id: string
  /** Its id or name; undefined for the default one. */
  project: string | undefined
}): string {
  return withQuery(`/console/traces/${encodeURIComponent(trace_id)}`, {
    project: project === 'default' ? undefined : project,
  })
}
