import type { Transaction } from '../core/db.ts'
import { declarePassing, selectedTrace } from './passing-traces.ts'
import type { JudgedTrace, PassingRow, SelectedTrace } from './passing-traces.ts'
import { listRevisions } from './revisions.ts'
import type { UsedRevision } from './revisions.ts'
import type { Selection } from './trace-filters.ts'

/**
 * The traces that pass every filter, in no order, `batch` at a time. The server reads the next batches
 * while the caller works on one. All are of one state of the database where the transaction has the
 * isolation level repeatable read.
 * @param share how many of the traces of the project pass, about, from 0 to 1
 */
export async function* selectTraces(
  tx: Transaction,
  selection: Selection,
  { batch, share }: { readonly batch: number; readonly share: number },
): AsyncGenerator<readonly SelectedTrace[]> {
  await planToReadAll(tx)
  await declarePassing(tx, selection, share)
  function fetch() {
    const rows = tx`fetch ${tx.unsafe(String(batch))} from passing`.values().execute()
    // Nobody awaits it where the caller goes no further.
    rows.catch(() => undefined)
    return rows
  }
  // The server collects a batch before it sends it, and works on the next one while that is read.
  const fetched = [fetch(), fetch()]
  async function readNext() {
    const rows = (await fetched.shift()) as unknown as readonly PassingRow[]
    fetched.push(fetch())
    return rows.length === 0 ? undefined : revise(tx, selection, rows.map(selectedTrace))
  }
  let next = readNext()
  for (;;) {
    const traces = await next
    if (!traces) break
    next = readNext()
    next.catch(() => undefined)
    yield traces
  }
  await tx`close passing`
}

/**
 * Has the server plan for reading the cursor to its end, until the transaction ends. Large parts of tables
 * are read in the order in which they lie on the disk: in the order of random ids, each row is on another
 * page. Tables are joined and grouped month by month, which takes less memory; what does not fit is
 * spilled. No workers are started, because a build has one core. The revisions of each batch are planned
 * anew, because a plan that is kept for all would be one for few ids.
 */
async function planToReadAll(tx: Transaction) {
  await tx`
    select set_config('cursor_tuple_fraction', '1', true), set_config('random_page_cost', '4', true),
      set_config('enable_partitionwise_join', 'on', true),
      set_config('enable_partitionwise_aggregate', 'on', true), set_config('work_mem', '64MB', true),
      set_config('max_parallel_workers_per_gather', '0', true),
      set_config('plan_cache_mode', 'force_custom_plan', true)`
}

/** Names the revisions that stand for the contents of these traces. */
async function revise(tx: Transaction, selection: Selection, traces: readonly JudgedTrace[]) {
  const revisions = await listRevisions(tx, selection, traces)
  if (revisions.size === 0) return traces
  return traces.map((trace) => withRevision(trace, revisions.get(trace.trace_id)))
}

function withRevision(trace: JudgedTrace, revision: UsedRevision | undefined): SelectedTrace {
  if (revision?.trace_revision !== trace.revision) return trace
  const content_bytes = revision.bytes + trace.correction_bytes
  return { ...trace, content_bytes, repair: revision.repair }
}
