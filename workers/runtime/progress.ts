import { saveCheckpoint } from '../../sql/jobs/job-claims.ts'
import type { Claim } from '../../sql/jobs/job-claims.ts'
import type { Progress } from '../../sql/jobs/jobs.ts'
import type { Attempt } from './attempt.ts'

/**
 * Writes the newest progress at most once in `PROGRESS_INTERVAL_MS`. That of an internal job is not
 * written, since the job has no row.
 */
export function startProgress({ context, abort }: Attempt, claim: Claim | undefined) {
  let newest: Progress | undefined
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write() {
    timer = undefined
    const progress = newest
    newest = undefined
    if (!progress || !claim) return
    // A write that fails may be lost: the next progress replaces it.
    const held = await saveCheckpoint(context.sql, claim, progress).catch(() => true)
    if (!held) abort.abort('claim_lost')
  }

  return {
    put(progress: Progress) {
      newest = progress
      timer ??= setTimeout(() => {
        writing = write()
      }, PROGRESS_INTERVAL_MS)
    },
    /** Drops what waits to be written, because the caller is about to write newer progress. */
    forget() {
      newest = undefined
    },
    /** Resolves when nothing more will be written. */
    async end() {
      clearTimeout(timer)
      await writing
    },
  }
}

const PROGRESS_INTERVAL_MS = 1000
