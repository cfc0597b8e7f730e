import type { Query } from '../page.ts'
import { withQuery } from '../parts.ts'

/** What names a trace: ids are unique in their project only. */
export interface TraceName {
  readonly trace_id: string
  readonly project: string
}

/** The trace that an address names; undefined where it names none. */
export function nameOf(traceId: string | undefined, project: string | undefined) {
  return traceId ? { trace_id: traceId, project: project ?? 'default' } : undefined
}

/**
 * The address of what comes after the trace that is shown. After one that was gone back to it is the place
 * that was left for it, which `cursor` says already.
 * @param nextCursor null where no trace comes behind the one of the list
 */
export function placeAfter(
  { agent_name, project, cursor, trace_id }: Query,
  shown: TraceName | undefined,
  nextCursor: string | null,
): string {
  const kept = { agent_name, project, back: shown?.trace_id, of_back: shown?.project }
  if (trace_id) return withQuery('/console/review', { ...kept, cursor })
  const after = nextCursor === null ? { end: '1' } : { cursor: nextCursor }
  return withQuery('/console/review', { ...kept, ...after })
}
