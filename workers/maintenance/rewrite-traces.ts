import { setImmediate } from 'node:timers/promises'
import type { Checkpoint } from '../../jobs/job.ts'
import { rewriteTraces } from '../../jobs/rewrite-traces.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import { shareContent } from '../../jobs/rules/traces/content.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { countStoredTraces } from '../../sql/traces/trace-counts.ts'
import {
  listContentsOf,
  listTraceIds,
  listWholeContents,
  updateContents,
} from '../../sql/traces/rewritten-contents.ts'
import type {
  ContentKey,
  ContentOwner,
  ReadContent,
  RewrittenContent,
} from '../../sql/traces/rewritten-contents.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { CONTINUE, handler } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'

/**
 * Rewrites the contents of a project some traces at a time, in the order of their ids. What is rewritten
 * is not looked at again, so that a run that was cut short is repeated from its last checkpoint.
 * @param sliceMs after which others have their turn
 */
export function makeRewriteHandler({ sliceMs }: { sliceMs: number }) {
  return handler(rewriteTraces, async ({ project_id: projectId }, run) => {
    if (run.contentForm !== 'shared') throw new GiveUp('older_release_served', NOT_SHARED)
    const owner = { orgId: run.orgId, projectId }
    const until = run.now().getTime() + sliceMs
    let cursor = run.checkpointed ?? { ...START, total: await countOf(run, owner) }
    for (;;) {
      const ids = await listTraceIds(run.sql, owner, cursor.after, TRACES_A_PAGE)
      const after = ids.at(-1)
      if (after === undefined) return resultOf(cursor)
      const whole = await listWholeContents(run.sql, owner, ids)
      for await (const batch of contentBatches([whole], BATCH)) {
        cursor = await rewriteBatch(run, owner, batch, cursor)
      }
      cursor = { ...cursor, after, done: cursor.done + ids.length }
      await run.sql.begin((tx: Transaction) => keep(run, tx, cursor))
      if (run.now().getTime() >= until) return CONTINUE
    }
  })
}

export const rewriteTracesHandler = makeRewriteHandler({ sliceMs: 120_000 })

function countOf({ sql }: ResumableRun<Cursor>, { orgId, projectId }: ContentOwner) {
  return countStoredTraces(sql, { orgId, projectIds: [projectId] })
}

/** @returns the cursor with what was rewritten, at the page where it stands */
async function rewriteBatch(
  run: ResumableRun<Cursor>,
  owner: ContentOwner,
  keys: readonly ContentKey[],
  cursor: Cursor,
): Promise<Cursor> {
  const rewritten: RewrittenContent[] = []
  const next = { ...cursor }
  for (const read of await listContentsOf(run.sql, owner, keys)) {
    run.signal.throwIfAborted()
    const content = await share(run, read)
    if (content === 'unreadable') next.unreadable++
    if (!(content instanceof Buffer)) continue
    rewritten.push({ ...read, content })
    next.bytes_before += read.content.length
    next.bytes_after += content.length
  }
  await run.sql.begin(async (tx: Transaction) => {
    next.rewritten += await updateContents(tx, owner, rewritten)
    await keep(run, tx, next)
  })
  return next
}

async function share(
  { log, orgId }: ResumableRun<Cursor>,
  { trace_id, target_manifest_id, content }: ReadContent,
) {
  try {
    return await shareContent(content, setImmediate)
  } catch (error) {
    const fields = { org_id: orgId, trace_id, target_manifest_id, err: error }
    log.error(fields, 'a content cannot be read: it is left as it is')
    return 'unreadable'
  }
}

function keep(run: ResumableRun<Cursor>, tx: Transaction, cursor: Cursor) {
  const { done, total } = cursor
  return run.checkpoint(tx, { done, total: Math.max(done, total), unit: 'traces' }, cursor)
}

function resultOf({ done: traces, rewritten, unreadable, bytes_before, bytes_after }: Cursor) {
  return { traces, rewritten, unreadable, bytes_before, bytes_after }
}

const START = { after: '', done: 0, rewritten: 0, bytes_before: 0, bytes_after: 0, unreadable: 0 }
const NOT_SHARED =
  'This worker was started while releases were served that cannot read rewritten contents: finish the upgrade and start the workers again'
const TRACES_A_PAGE = 1000
/** The bytes are compressed, about a quarter of the content. */
const BATCH = { traces: 50, bytes: 1 << 20 }

type Cursor = Checkpoint<typeof rewriteTraces>
