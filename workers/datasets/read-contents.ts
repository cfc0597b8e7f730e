import { manifestTools } from '../../jobs/rules/datasets/tools.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import { listContents } from '../../sql/datasets/contents.ts'
import type { SelectedContent } from '../../sql/datasets/contents.ts'
import { listStoredManifests } from '../../sql/manifests/manifest-components.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import type { Run } from '../runtime/handler.ts'
import { manifestOf } from './listed-trace.ts'
import type { ListedTrace, ManifestTools, RawTrace } from './listed-trace.ts'
import type { RowList } from './row-list.ts'

export interface ReadBatch {
  readonly traces: readonly RawTrace[]
  /** How many traces were deleted or changed since they were listed, or lost the listed revision. */
  readonly deleted: number
  /** Of the manifests that no batch before had a trace of. */
  readonly tools: ManifestTools
}

/**
 * Reads the contents of the listed traces in the requested order, in batches that are small in bytes.
 * The next batch is read while the caller works on one.
 */
export async function* readContents(
  run: Run,
  projectId: string,
  list: Pick<RowList, 'readTraces'>,
  order: Parameters<RowList['readTraces']>[0],
): AsyncGenerator<ReadBatch> {
  const known = new Set<string>()
  let next: Promise<ReadBatch> | undefined
  for await (const traces of contentBatches(list.readTraces(order), BATCH)) {
    const ready = next
    const manifestIds = new Set(traces.flatMap((trace) => manifestOf(trace) ?? []))
    const unknown = [...manifestIds.difference(known)]
    for (const id of unknown) known.add(id)
    next = awaitedLater(readBatch(run, projectId, traces, unknown))
    if (ready) yield await ready
    run.signal.throwIfAborted()
  }
  if (next) yield await next
}

async function readBatch(
  { sql, orgId }: Run,
  projectId: string,
  listed: readonly ListedTrace[],
  manifestIds: readonly string[],
): Promise<ReadBatch> {
  const manifests = await listStoredManifests(sql, orgId, manifestIds)
  const rows = await listContents(sql, orgId, projectId, listed)
  const byId = new Map(rows.map((row) => [row.trace_id, row]))
  const traces = listed.flatMap((trace): RawTrace[] => {
    const row = byId.get(trace.trace_id)
    if (!row || !isSame(row, trace)) return []
    const { content, user_input_preview, final_output_preview, corrected_output } = row
    return [{ trace, content, user_input_preview, final_output_preview, corrected_output }]
  })
  const tools = new Map(manifests.map(({ id, components }) => [id, manifestTools(components)]))
  return { traces, deleted: listed.length - traces.length, tools }
}

function isSame(row: SelectedContent, trace: ListedTrace) {
  const isOfThen = row.created_at.getTime() === trace.created_at.getTime()
  return isOfThen && row.revision === trace.revision
}

/** The bytes are compressed, about a quarter of the content. */
const BATCH = { traces: 500, bytes: 1 << 20 }
