import { handler } from '../../workers/runtime/handler.ts'
import type { Handler } from '../../workers/runtime/handler.ts'
import { until } from './until.ts'

/** A handler, and a wait until its run has been told to stop: what is let go before that may go on. */
export function watchHandler<T extends object, C extends object>({ job, work }: Handler<T, C>) {
  let signal: AbortSignal | undefined
  return {
    handler: handler(job, (payload, run) => {
      signal = run.signal
      return work(payload, run)
    }),
    aborted: () => until(() => signal?.aborted ?? false),
  }
}
