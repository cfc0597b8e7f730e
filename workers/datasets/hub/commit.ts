import { commitIter } from '@huggingface/hub'
import type { CommitOperation } from '@huggingface/hub'
import { shape } from '../../../jobs/shape.ts'
import { checkAnswer, commitId, readAs } from './answers.ts'
import { TOKEN_PLACEHOLDER } from './fetch.ts'
import type { HubFetch } from './fetch.ts'

export interface CommitRequest {
  readonly title: string
  readonly description: string
  readonly revision: string
  /** What the revision has to be at. */
  readonly parent: string | undefined
  readonly isPullRequest: boolean
  readonly operations: CommitOperation[]
  /** Called when the hub has a file that is not part of the commit itself. */
  readonly onUploaded: (path: string) => void
}

interface CommitTo {
  readonly url: string
  readonly repoId: string
  readonly fetch: HubFetch
  /** Ends the commit. */
  readonly signal: AbortSignal
}

/** Uploads what a hub does not have and commits all. Resolves with the id of the commit. */
export async function commitFiles(
  hub: CommitTo,
  { revision, parent, isPullRequest, operations, onUploaded, ...words }: CommitRequest,
) {
  const end = new AbortController()
  const signal = AbortSignal.any([hub.signal, end.signal])
  const events = commitIter({
    ...words,
    repo: { type: 'dataset', name: hub.repoId },
    operations,
    branch: revision,
    isPullRequest,
    ...(parent !== undefined && { parentCommit: parent }),
    hubUrl: hub.url,
    accessToken: TOKEN_PLACEHOLDER,
    useXet: false,
    fetch: forLibrary(hub.fetch, signal, (error) => end.abort(error)) as typeof globalThis.fetch,
  })
  try {
    return await Promise.race([follow(events, onUploaded), rejectedBy(signal)])
  } finally {
    end.abort()
  }
}

/**
 * Looks at what the library reads of answers before it does. The library learns of no fault and of no signal, and
 * waits for ever: it loses errors that come while events of its own wait, or rejects promises that nobody awaits,
 * which would end the process.
 * @param signal ends every request
 * @param onFault called with what a request fails with
 */
function forLibrary(
  fetch: HubFetch,
  signal: AbortSignal,
  onFault: (error: unknown) => void,
): HubFetch {
  return async (target, init) => {
    try {
      return await checkAnswer(target, init?.body, await fetch(target, { ...init, signal }))
    } catch (error) {
      onFault(error)
      return new Promise<never>(() => undefined)
    }
  }
}

/** Takes the events of a commit to its end. */
async function follow(
  events: ReturnType<typeof commitIter>,
  onUploaded: (path: string) => void,
): Promise<string> {
  for (;;) {
    const { done, value } = await events.next()
    if (done) return readAs(COMMITTED, value?.commit).oid
    if (value.event === 'fileProgress' && value.state === 'uploading' && value.progress === 1) {
      onUploaded(value.path)
    }
  }
}

/** Fails with the reason of a signal. */
function rejectedBy(signal: AbortSignal) {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  return promise
}

const COMMITTED = shape({ oid: commitId() })
