import type { Transaction } from '../../../sql/core/db.ts'
import { stageChunk } from '../../../sql/import/import-parts.ts'
import { addImportStep } from '../../../sql/import/imports.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import { findProjects } from '../../../sql/import/restored-references.ts'
import { listKnownTraceIds } from '../../../sql/traces/trace-copy.ts'
import { boxTodo } from '../../../sql/transactions/follow-restore.ts'
import type { RestoreTodo } from '../../../sql/transactions/follow-restore.ts'
import { chargeTraces } from '../../../sql/transactions/store-traces.ts'
import type { ResumableRun, Run } from '../../runtime/handler.ts'
import { readingProgress } from '../import-slice.ts'
import { OverQuota } from '../store-step.ts'
import { incomplete } from './restore-state.ts'
import type { ReadyChunk, RestoreAccess, RestoreCursor } from './restore-state.ts'
import { storeUnits } from './store-units.ts'
import type { StoredLines } from './stored-lines.ts'

/**
 * Stores a chunk in one transaction: rows, counts, errors, what is still to be done with its traces, and the
 * position from which to continue. Whatever ends the process or aborts the run, all of it is stored or nothing.
 * @returns the next cursor
 * @throws OverQuota
 */
export async function storeChunk(
  run: ResumableRun<RestoreCursor>,
  item: ImportRow,
  access: RestoreAccess,
  ready: ReadyChunk,
  from: RestoreCursor | undefined,
  isSliceEnd: boolean,
): Promise<RestoreCursor> {
  const { chunk, parsed } = ready
  const { org_id: orgId, id: importId } = item
  return run.queue.transaction(run.sql, async (tx: Transaction) => {
    const chunkNo = from?.chunk_no ?? 0
    const restoring = { tx, run, scope: access.scope, key: { orgId, importId }, chunkNo }
    const stored = item.dry_run
      ? await countLines(tx, access, parsed)
      : await storeUnits(restoring, ready, from)
    run.signal.throwIfAborted()
    const faults = [...chunk.faults, ...parsed.faults, ...stored.faults]
    const next = { ...advance(from, ready, stored, item), attempt: run.attempt, isSliceEnd }
    const todo = item.dry_run ? undefined : todoOf(stored)
    if (todo) await stageChunk(tx, { orgId, importId }, chunkNo, boxTodo(todo))
    await addImportStep(tx, orgId, importId, {
      source: undefined,
      bytes_done: chunk.consumed,
      lines_done: chunk.next.line,
      imported: stored.newTraces.length - stored.removedCount,
      skipped: Math.max(stored.presentTraces.length - stored.newTraces.length, 0),
      errors: faults,
      scores: stored.restored['score'] ?? 0,
      losses: stored.conflictCount > 0 ? { conflict: stored.conflictCount } : {},
      cappedAtLine: chunk.cappedAtLine,
      incompleteTraceIds: [],
    })
    await run.checkpoint(tx, readingProgress(item, chunk.consumed, next.end !== undefined), next)
    if (!item.dry_run && access.isCharged) await charge(tx, run, stored)
    return next
  })
}

/** Undefined for nothing. Traces that were there before are searched too: a restore may have ended early. */
function todoOf({ presentTraces, todo, hasWaiting }: StoredLines): RestoreTodo | undefined {
  const { links, retargets, scans = [] } = todo
  const count = presentTraces.length + links.length + retargets.length + scans.length
  // Whatever is staged is found by what is left to do.
  if (count === 0 && !hasWaiting) return undefined
  const grouped = Map.groupBy(presentTraces, ({ project_id }) => project_id)
  const searched = [...grouped].map(
    ([id, some]) => [id, some.map(({ trace_id }) => trace_id)] as const,
  )
  return { searched, ...todo }
}

/** Locks the organization's counter until the transaction ends, so it comes last. */
async function charge(tx: Transaction, run: Run, { newTraces }: StoredLines) {
  const account = { orgId: run.orgId, quotas: run.quotas, at: run.now() }
  const over = await chargeTraces(tx, run.queue, account, newTraces.length)
  const first = over && newTraces[over.left]
  if (first) throw new OverQuota(first.line, first.trace_id)
}

/** Where a run continues after a chunk, or what is left to do once all are read. */
function advance(
  from: RestoreCursor | undefined,
  { chunk, parsed }: ReadyChunk,
  stored: StoredLines,
  item: ImportRow,
): Omit<RestoreCursor, 'attempt' | 'isSliceEnd'> {
  const { end } = parsed
  const isAfterEnd = parsed.faults.some(({ code }) => code === 'after_end')
  const fault =
    from?.fault ?? (isAfterEnd ? incomplete('there are lines after its last one') : undefined)
  const next = {
    ...from,
    ...chunk.next,
    chunk_no: (from?.chunk_no ?? 0) + 1,
    counts: added(from?.counts, parsed.counts),
    restored: added(from?.restored, stored.restored),
    open: stored.open,
    chain: stored.chain,
    last_line:
      from?.last_line ?? (end && { offset: end.offset, counts: end.counts, sha256: end.sha256 }),
    fault,
  }
  if (chunk.cappedAtLine !== undefined) return { ...next, phase: 'follow' }
  if (!chunk.isLast) return next
  const found = fault ?? endFault(next, chunk)
  if (found && item.dry_run) return { ...next, end: { fault: found } }
  return found ? { ...next, fault: found, phase: 'follow' } : { ...next, phase: 'check' }
}

/** What the end of the file says against its being a whole backup. */
function endFault(
  { counts, last_line: last }: Pick<RestoreCursor, 'counts' | 'last_line'>,
  { broken }: ReadyChunk['chunk'],
) {
  if (broken) return incomplete(broken.message)
  if (!last) return incomplete('it ends before its last line')
  const kinds = [...new Set([...Object.keys(counts), ...Object.keys(last.counts)])]
  const other = kinds.find((kind) => (counts[kind] ?? 0) !== (last.counts[kind] ?? 0))
  if (other === undefined) return undefined
  const [has, told] = [counts[other] ?? 0, last.counts[other] ?? 0]
  return incomplete(`it has ${has} lines of the kind ${other}, and its last line says ${told}`)
}

function added(
  sums: Readonly<Record<string, number>> = {},
  more: Readonly<Partial<Record<string, number>>>,
) {
  const all = { ...sums }
  for (const [kind, n = 0] of Object.entries(more)) if (n !== 0) all[kind] = (all[kind] ?? 0) + n
  return all
}

/** What a dry run can tell: which traces are new. */
async function countLines(
  tx: Transaction,
  { scope }: RestoreAccess,
  { entries }: ReadyChunk['parsed'],
): Promise<StoredLines> {
  const traces = entries.flatMap(({ kind, line, values, place }) => {
    const { project, trace_id } = values as { project: string; trace_id: string }
    return kind === 'trace' && place !== null ? [{ line, project, project_id: '', trace_id }] : []
  })
  const projects = await findProjects(
    tx,
    scope,
    traces.map(({ project }) => project),
  )
  const known = new Set<string>()
  for (const [project, some] of Map.groupBy(traces, (trace) => trace.project)) {
    const id = projects.get(project)
    const ids = some.map(({ trace_id }) => trace_id)
    const there = id === undefined ? [] : await listKnownTraceIds(tx, scope.orgId, id, ids)
    for (const traceId of there) known.add(`${project}\0${traceId}`)
  }
  const newTraces = traces.filter(({ project, trace_id }) => !known.has(`${project}\0${trace_id}`))
  return { ...NOTHING_STORED, newTraces, presentTraces: traces }
}

const NOTHING_STORED: StoredLines = {
  faults: [],
  restored: {},
  conflictCount: 0,
  newTraces: [],
  presentTraces: [],
  removedCount: 0,
  hasWaiting: false,
  todo: { links: [], retargets: [], scans: [] },
  open: undefined,
  chain: undefined,
}
