import { saveCheckpoint } from '../sql/job-claims.ts'
import type { Claim } from '../sql/job-claims.ts'
import type { Progress } from '../sql/jobs.ts'
import type { Attempt } from './queued-job.ts'

/** Writes the newest progress at most once in `PROGRESS_INTERVAL_MS`; an internal job's goes nowhere. */
export function startProgress({ context, abort }: Attempt, claim: Claim | undefined) {
  let newest: Progress | undefined
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write() {
    timer = undefined
    const progress = newest
    newest = undefined
    if (!progress || !claim) return
    // Progress that is lost is replaced by the next one.
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
    /** What waits to be written is older than what the caller is about to write. */
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
