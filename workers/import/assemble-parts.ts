import { countStagedTraces } from '../../sql/import/import-parts.ts'
import { isPulled } from '../../sql/import/imports.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import { CONTINUE } from '../runtime/handler.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'
import type { EncodedPage, PageSettings } from './assemble-page.ts'
import { assemblingProgress, settingsOf } from './import-slice.ts'
import type { PartsCursor, Slice } from './import-slice.ts'
import { inOrder } from './in-order.ts'
import { assembleInThread } from './parsers.ts'
import { openPage, pagesBefore, readPages } from './read-pages.ts'
import type { Page, PageLimits } from './read-pages.ts'
import { OverQuota, storeStep } from './store-step.ts'
import type { ReadyStep } from './store-step.ts'

/**
 * Puts together what was staged, trace by trace, from the cursor on: until the last trace, the end of the
 * slice, or the trace that the organization's quota does not hold. That one is known once a page does
 * not fit; the page is then made again, up to the trace.
 */
export async function assembleParts<C extends PartsCursor>(
  run: ResumableRun<C>,
  item: ImportRow,
  from: C,
  slice: Slice,
  beforeTrace?: string,
): Promise<NonNullable<C['end']> | typeof CONTINUE> {
  const key = { orgId: item.org_id, importId: item.id }
  const total = await countStagedTraces(run.sql, key)
  const settings = {
    ...settingsOf(run, item),
    isBroken: from.broken !== undefined || isPulled(item),
  }
  const pages = readPages(run.sql, key, from.after, slice.limits)
  let cursor = from
  const ready = inOrder(pagesBefore(pages, beforeTrace), PAGES_AHEAD, (page) =>
    prepare(run, settings, page, slice.limits),
  )
  try {
    for await (const prepared of ready) {
      run.signal.throwIfAborted()
      const isSliceEnd = slice.isOver()
      const next = { ...advance(cursor, prepared.page), attempt: run.attempt, isSliceEnd }
      await storeStep(run, item, stepOf(item, prepared, next, total), next)
      cursor = next
      if (next.end) return next.end
      if (isSliceEnd) return CONTINUE
    }
  } catch (error) {
    if (!(error instanceof OverQuota)) throw error
    return await assembleParts(run, item, cursor, slice, error.traceId)
  }
  throw new TypeError('The staged traces ended without their last page')
}

async function prepare(
  run: Run,
  settings: PageSettings,
  page: Page,
  limits: PageLimits,
): Promise<PreparedPage> {
  run.signal.throwIfAborted()
  const { traces, bytes, faults } = await openPage(run.sql, settings, page, limits)
  run.signal.throwIfAborted()
  const encoded = await assembleInThread(traces, bytes, settings)
  return { page, encoded, faults: [...faults, ...encoded.faults] }
}

/** Where a run continues after a page, or how the import ends with it. */
function advance<C extends PartsCursor>(cursor: C, { traces, isLast }: Page): C {
  const last = traces.at(-1)
  const next = {
    ...cursor,
    ...(last && { after: { first_line: last.first_line, trace_id: last.trace_id } }),
    assembled: (cursor.assembled ?? 0) + traces.length,
  }
  if (!isLast) return next
  return { ...next, end: cursor.broken ? { fault: cursor.broken } : {} }
}

function stepOf(
  item: ImportRow,
  { page, encoded, faults }: PreparedPage,
  { line, assembled = 0, end }: PartsCursor,
  total: number,
): ReadyStep {
  const share = end ? 1 : assembled / total
  return {
    encoded,
    later: encoded,
    faults,
    linesDone: line,
    cappedAtLine: page.cappedAtLine,
    progress: assemblingProgress(item, line, share),
  }
}

interface PreparedPage {
  readonly page: Page
  readonly encoded: EncodedPage
  readonly faults: ReadyStep['faults']
}

/** One page is stored while each of the two threads has another. */
const PAGES_AHEAD = 3
