import { setTimeout } from 'node:timers/promises'
import type { ConnectionKeys } from '../../../jobs/rules/import/platforms.ts'
import { windowOfPage } from '../../../jobs/rules/import/pull-window.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import type { PulledImport } from '../../../sql/import/imports.ts'
import { GiveUp } from '../../runtime/give-up.ts'
import { CONTINUE, continueAfter } from '../../runtime/handler.ts'
import type { ResumableRun, Waiting } from '../../runtime/handler.ts'
import { openJobSecret } from '../../runtime/job-secret.ts'
import { MAX_INFLATED_BYTES } from '../containers/inflate.ts'
import { settingsOf } from '../import-slice.ts'
import type { Slice } from '../import-slice.ts'
import { afterFault } from './after-fault.ts'
import type { Turn } from './after-fault.ts'
import { SourceUnreadable } from './platform.ts'
import type { Platform, Puller } from './platform.ts'
import { platforms } from './platforms.ts'
import { atWindow, behindPage, firstCursor, pullProgress, windowOf } from './pull-cursor.ts'
import type { PullCursor } from './pull-cursor.ts'
import { readyPage } from './ready-page.ts'
import { openSource } from './source.ts'
import type { OpenSource } from './source.ts'
import { storePage } from './store-page.ts'

/**
 * Reads the pages of a platform from the cursor on and stages the parts of traces on them, until the last
 * one, the end of the slice, or a wait that the platform asks for. Only faults of a run that has come no
 * further use up retries.
 * @returns the cursor behind the last page, which says how the import ended unless there are parts
 */
export async function readPlatform(
  run: ResumableRun<PullCursor>,
  item: PulledImport,
  from: PullCursor | undefined,
  slice: Slice,
): Promise<PullCursor | typeof CONTINUE | Waiting> {
  const pull = await openPull(run, item)
  let cursor = from ?? firstCursor(item, pull.platform.pageRows)
  let hasAdvanced = false
  for (;;) {
    run.signal.throwIfAborted()
    try {
      // Kept from here on, whatever becomes of the page: platforms count the requests that find it.
      const project = cursor.project ?? (await findProject(pull))
      cursor = { ...cursor, project }
      cursor = await takePage(pull, cursor, project, slice)
      hasAdvanced = true
      if (cursor.end ?? cursor.phase) return cursor
      if (cursor.isSliceEnd) return CONTINUE
    } catch (error) {
      const turn = afterFault(error, cursor, { rows: rowsOf(pull, cursor), chance: Math.random() })
      // A window that begins again takes back what was read of it; else it could begin again without end.
      if (turn.cursor.page !== cursor.page) hasAdvanced = false
      cursor = turn.cursor
      if (turn.kind === 'again') continue
      if (isShort(turn) && !slice.isOver()) {
        await setTimeout(turn.seconds * 1000, undefined, { signal: run.signal })
        continue
      }
      await save(pull, cursor, turn)
      if (turn.kind === 'wait') return continueAfter(turn.seconds)
      if (hasAdvanced) return continueAfter(RETRY_SECONDS)
      throw turn.error
    }
  }
}

async function openPull(run: ResumableRun<PullCursor>, item: PulledImport): Promise<Pull> {
  const platform = platforms[item.source]
  const source = openSource(run, platform, item.connection, await openKeys(run))
  return { run, item, platform, source, puller: platform.open(source) }
}

async function openKeys(run: ResumableRun<PullCursor>): Promise<ConnectionKeys> {
  const keys = await openJobSecret(run, 'keys')
  return keys === undefined ? {} : (JSON.parse(keys) as ConnectionKeys)
}

async function findProject({ puller }: Pull) {
  const project = await puller.begin()
  if (PROJECT.test(project)) return project
  throw new SourceUnreadable('The platform calls its project by what cannot be an id')
}

/** Asks for the next page and stores it, unless the window has to begin again as a shorter one. */
async function takePage(
  pull: Pull,
  cursor: PullCursor,
  project: string,
  slice: Slice,
): Promise<PullCursor> {
  const { run, item, platform, source, puller } = pull
  const bytesBefore = source.bytesRead()
  const { from, to, page: place, limit, line, chunk_no: chunkNo = 0 } = cursor
  const page = await puller.listPage({ project, window: { from, to }, cursor: place, limit })
  const bytes = cursor.bytes + source.bytesRead() - bytesBefore
  const pages = page.records.length > 0 ? page.pages : undefined
  const shorter = windowOfPage(windowOf(cursor), pages ?? 1)
  // Nothing is stored: a cursor that an earlier run kept at its end would end this one as well.
  if (shorter) return { ...atWindow(cursor, shorter), bytes, isSliceEnd: false }
  const settings = { ...settingsOf(run, item), format: item.source }
  const ready = await readyPage(run, settings, page, { line, chunkNo })
  const next: PullCursor = {
    ...behindPage(cursor, page, ready, item, platform.pageRows),
    bytes,
    attempt: run.attempt,
    isSliceEnd: slice.isOver(),
  }
  checkSize(next)
  await storePage(run, item, ready, next, pullProgress(cursor, item))
  return next
}

/** A platform that never comes to an end is not asked without one. */
function checkSize({ bytes, empty }: PullCursor) {
  if (bytes > MAX_INFLATED_BYTES) {
    throw new GiveUp('source_too_large', 'The range holds more than a file may: pull shorter ones')
  }
  if (empty > MAX_EMPTY) {
    throw new SourceUnreadable('The platform gives one page without records after the other')
  }
}

/** How many rows a page at the cursor is asked for. */
function rowsOf({ puller }: Pull, { project, page: cursor, limit }: PullCursor) {
  if (project === undefined) return limit
  return Math.min(limit, puller.mostRows?.({ project, cursor }) ?? limit)
}

function isShort(turn: Turn): turn is Extract<Turn, { kind: 'wait' }> {
  return turn.kind === 'wait' && turn.seconds <= MAX_HELD_SECONDS
}

/** Keeps the cursor of a run that ends of its own accord, and says for how long the platform is waited for. */
async function save({ run, item }: Pull, cursor: PullCursor, turn: Turn) {
  const saved = { ...cursor, attempt: run.attempt, isSliceEnd: true }
  const { note, ...progress } = pullProgress(saved, item)
  const wait = turn.kind === 'wait' ? `, waits for the platform for ${turn.seconds} s` : ''
  await run.queue.transaction(run.sql, (tx: Transaction) =>
    run.checkpoint(tx, { ...progress, note: `${note ?? ''}${wait}` }, saved),
  )
}

/** Longer waits hold no slot. */
const MAX_HELD_SECONDS = 30
/** Before the next page, after a fault that followed a stored one. */
const RETRY_SECONDS = 5
/** Pages in a row. */
const MAX_EMPTY = 100
/** What each page is asked with. */
const PROJECT = /^[\x20-\x7e]{1,1000}$/

interface Pull {
  readonly run: ResumableRun<PullCursor>
  readonly item: PulledImport
  readonly platform: Platform
  readonly source: OpenSource
  readonly puller: Puller
}
