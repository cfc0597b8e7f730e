import { foldCounts } from '../../sql/traces/count-changes.ts'
import type { WorkerContext } from '../runtime/context.ts'

/**
 * Adds up changes of the counts every few seconds until the function it returns is called. Every process
 * that supervises does so. Counts are right without it, but reading them takes the longer the more changes
 * were left. So it is no job: what one pass does not do, the next one does.
 */
export function keepCountsFolded({ sql, log }: Pick<WorkerContext, 'sql' | 'log'>) {
  let folding: Promise<void> | undefined
  let stopped = false

  async function pass() {
    try {
      while (!stopped && (await foldCounts(sql, CHANGES_TOGETHER)) > 0);
    } catch (err) {
      log.warn({ err }, 'changes of the counts could not be added up')
    }
    folding = undefined
  }

  const ticking = setInterval(() => {
    folding ??= pass()
  }, PASS_MS)
  return async () => {
    stopped = true
    clearInterval(ticking)
    await folding
  }
}

const PASS_MS = 5000
/** Adding them up takes some tens of milliseconds. */
const CHANGES_TOGETHER = 5000
