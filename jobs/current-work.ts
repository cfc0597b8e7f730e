import { AsyncLocalStorage } from 'node:async_hooks'

/** On what the program works: each line of the log says so, and jobs keep the request of what enqueues them. */
export interface Work {
  /** The request that led to it, through however many jobs; absent where a schedule did. */
  readonly request_id?: string | undefined
  readonly org_id?: string | undefined
  /** Of a run of a job. */
  readonly queue?: string | undefined
  /** The job resource, if it has one. */
  readonly job_id?: string | undefined
}

const current = new AsyncLocalStorage<Work>()

/** Does something, over all its awaits, as a part of this work. */
export function workOn<T>(work: Work, act: () => T): T {
  return current.run(work, act)
}

/** What the caller is a part of; without members outside all work. */
export function currentWork(): Work {
  return current.getStore() ?? {}
}
