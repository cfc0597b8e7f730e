import type { importTraces } from '../../jobs/import-traces.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import type { Progress } from '../../sql/jobs/jobs.ts'
import type { WorkerContext } from '../runtime/context.ts'
import type { ImportSettings } from './encode-chunk.ts'
import type { PageLimits } from './read-pages.ts'

/** Where an import goes on, or how it ended. */
export type Cursor = Checkpoint<typeof importTraces>

/** The part of the next cursor that follows from what was read. */
export type Step = Omit<Cursor, 'attempt' | 'isSliceEnd'>

/** What bounds one run of an import. */
export interface Slice {
  readonly limits: Limits
  /** Whether the job goes on in another run. Ask once a chunk or page is at hand: the time begins then. */
  isOver(): boolean
}

export interface Limits extends PageLimits {
  /** About how many bytes of records are stored in one transaction. */
  readonly chunkBytes: number
}

/**
 * A slice whose time begins with the first question: a file whose beginning is read anew each time, since
 * it is compressed or converted, goes on by a whole slice all the same.
 */
export function openSlice(limits: Limits, seconds: number, nowMs = () => performance.now()): Slice {
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

/** Once a format is found, the row names that one, and only the cursor has the format asked for. */
export function settingsOf(
  { contentForm }: Pick<WorkerContext, 'contentForm'>,
  item: ImportRow,
  from: Cursor | undefined,
): ImportSettings {
  const asked = item.source === 'auto' ? null : item.source
  return {
    orgId: item.org_id,
    projectId: item.project_id ?? NO_PROJECT,
    importId: item.id,
    format: from ? from.format : asked,
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
  return { done, total: item.bytes_total, unit: 'bytes' }
}

/** Progress while traces are put together. @param share of them that are done, 0 to 1 */
export function assemblingProgress({ bytes_total: total }: ImportRow, share: number): Progress {
  const done = Math.floor((READING_SHARE + (1 - READING_SHARE) * share) * total)
  return { done: share === 1 ? total : done, total, unit: 'bytes' }
}

const READING_SHARE = 0.9
const NO_ID = '00000000-0000-0000-0000-000000000000'
/** Stands for the project of a dry run that belongs to none: it has no traces, and gets none. */
const NO_PROJECT = NO_ID
/** Stands for the key of an import of which none is known. */
const NOBODY = NO_ID
