import { box, unbox } from '../stage-parts.ts'
import { ownerText } from './stored-lines.ts'
import type { Retarget, StoredLines } from './stored-lines.ts'

/** What is left to do with what a chunk has brought, once all of the backup is there. */
export interface ChunkTodo {
  /** Traces to be searched, by project. */
  readonly searched: readonly ProjectTraces[]
  /** Those on which the backup has no decision. */
  readonly unjudged: readonly ProjectTraces[]
  /** Manifests that earlier traces named. */
  readonly links: readonly string[]
  readonly retargets: readonly Retarget[]
}

type ProjectTraces = readonly [projectId: string, traceIds: readonly string[]]

/** Undefined for nothing. Traces that were there before are searched too: a restore may have ended early. */
export function boxTodo({
  presentTraces,
  judgedIds,
  links,
  retargets,
}: StoredLines): Uint8Array | undefined {
  if (presentTraces.length + links.length + retargets.length === 0) return undefined
  const isUnjudged = ({ project, trace_id }: (typeof presentTraces)[number]) =>
    !judgedIds.has(ownerText(project, trace_id))
  const todo: ChunkTodo = {
    searched: byProject(presentTraces),
    unjudged: byProject(presentTraces.filter(isUnjudged)),
    links,
    retargets,
  }
  return box(JSON.stringify([todo]))
}

export function openTodo(content: Uint8Array): ChunkTodo {
  const [todo] = JSON.parse(unbox(content).toString()) as [ChunkTodo]
  return todo
}

function byProject(traces: StoredLines['presentTraces']): ProjectTraces[] {
  const grouped = Map.groupBy(traces, ({ project_id }) => project_id)
  return [...grouped].map(([id, some]) => [id, some.map(({ trace_id }) => trace_id)])
}
