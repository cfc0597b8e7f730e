import type { cursorMembers, stagingMembers } from '../../jobs/import-cursor.ts'
import type { importTraces } from '../../jobs/import-traces.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import type { Progress } from '../../sql/jobs/jobs.ts'
import type { WorkerContext } from '../runtime/context.ts'
import type { ImportSettings } from './encode-chunk.ts'
import type { PageLimits } from './read-pages.ts'

/** Where the import of a file goes on, or how it ended. */
export type Cursor = Checkpoint<typeof importTraces>

/** The part of the next cursor that follows from what was read. */
export type Step = Omit<Cursor, 'attempt' | 'isSliceEnd'>

/** What the cursors of all imports hold. */
export type PartsCursor = Pick<
  Cursor,
  keyof typeof cursorMembers | Extract<keyof typeof stagingMembers, keyof Cursor>
>

/** What bounds one run of an import. */
export interface Slice {
  readonly limits: Limits
  /** Whether the job goes on in another run. Ask once a chunk or page is at hand: the time begins then. */
  isOver(): boolean
}

/** Defaults: 4 MiB a chunk and a page, 50,000 parts and 64 MiB a trace. */
export interface ImportOptions extends Partial<Limits> {
  /**
   * So long after its first chunk the job continues in another run, so that others get their turn;
   * default 120.
   */
  readonly sliceSeconds?: number
}

export interface Limits extends PageLimits {
  /** About how many bytes of records are stored in one transaction. */
  readonly chunkBytes: number
}

export function limitsOf({
  chunkBytes = 4 << 20,
  pageBytes = 4 << 20,
  traceParts = 50_000,
  traceBytes = 64 << 20,
}: ImportOptions): Limits {
  return { chunkBytes, pageBytes, traceParts, traceBytes }
}

/**
 * A slice whose time begins with the first question: a file whose beginning is read anew each time, since
 * it is compressed or converted, goes on by a whole slice all the same.
 */
export function openSlice(limits: Limits, seconds = 120, nowMs = () => performance.now()): Slice {
  let until: number | undefined
  return {
    limits,
    isOver() {
      const now = nowMs()
      until ??= now + seconds * 1000
      return now >= until
    },
  }
}

/** What holds for all records of an import, but for the format of those that are read. */
export function settingsOf(
  { contentForm }: Pick<WorkerContext, 'contentForm'>,
  item: ImportRow,
): Omit<ImportSettings, 'format'> {
  return {
    orgId: item.org_id,
    projectId: item.project_id ?? NO_PROJECT,
    importId: item.id,
    agentName: item.agent_name,
    now: item.created_at,
    dryRun: item.dry_run,
    createdBy: item.created_by ?? NOBODY,
    contentForm,
  }
}

/**
 * Progress while the file is read, in bytes of it: nine tenths of the work.
 * @param isEnd whether nothing is left to be put together
 */
export function readingProgress(item: ImportRow, bytesRead: number, isEnd: boolean): Progress {
  const done = isEnd ? bytesRead : Math.floor(READING_SHARE * bytesRead)
  return { done, total: item.bytes_total ?? undefined, unit: 'bytes' }
}

/**
 * Progress while traces are put together, of a pull in the records that it has read.
 * @param line records read; @param share of the traces that are done, 0 to 1
 */
export function assemblingProgress(
  { bytes_total: total }: ImportRow,
  line: number,
  share: number,
): Progress {
  if (total === null) {
    const note = `${Math.floor(100 * share)} % of the traces put together`
    return { done: line, unit: 'records', note }
  }
  const done = Math.floor((READING_SHARE + (1 - READING_SHARE) * share) * total)
  return { done: share === 1 ? total : done, total, unit: 'bytes' }
}

const READING_SHARE = 0.9
const NO_ID = '00000000-0000-0000-0000-000000000000'
/** Stands for the project of a dry run that belongs to none: it has no traces, and gets none. */
const NO_PROJECT = NO_ID
/** Stands for the key of an import of which none is known. */
const NOBODY = NO_ID
