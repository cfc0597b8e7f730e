import type { Request, Server } from '@hapi/hapi'
import { CONCURRENT_REQUESTS } from '../jobs/rules/org/plan.ts'
import type { Plan } from '../jobs/rules/org/plan.ts'
import { limitReached } from './rate-limit.ts'

/**
 * Caps the requests of each organization that this process works on at once. Those that wait for the end of
 * a job do no work and are counted apart. A request counts until it is answered and its operation has ended:
 * that of a client who has gone away goes on.
 */
export function limitConcurrency(server: Server) {
  const organizations = new Map<string, Crowd>()
  server.ext('onPostAuth', (request, h) => {
    const principal = request.auth.credentials?.user?.principal
    if (!principal) return h.continue
    const { orgId, plan } = principal
    const crowd = organizations.get(orgId) ?? { working: 0, waiting: 0 }
    if (crowd.working >= CONCURRENT_REQUESTS[plan]) {
      request.app.refused = 'concurrency'
      throw tooManyAtOnce(plan)
    }
    organizations.set(orgId, crowd)
    crowd.working++
    request.app.place = openPlace(crowd, () => {
      if (crowd.working + crowd.waiting === 0) organizations.delete(orgId)
    })
    return h.continue
  })
  server.events.on('response', ({ app: { place } }) => place?.release())
}

/** Performs a request's operation, which counts until it has ended. */
export async function whileCounted<T>({ app: { place } }: Request, perform: () => Promise<T>) {
  place?.hold()
  try {
    return await perform()
  } finally {
    place?.release()
  }
}

/**
 * Waits without being counted among the organization's working requests. Where many of them wait already,
 * does not wait.
 * @param wait is called with the seconds it may take
 */
export async function waitApart<T>(
  { app: { place } }: Request,
  seconds: number,
  wait: (seconds: number) => Promise<T>,
): Promise<T> {
  if (!place) return wait(seconds)
  const { crowd } = place
  if (crowd.waiting >= MAX_WAITING) return wait(0)
  crowd.working--
  crowd.waiting++
  try {
    return await wait(seconds)
  } finally {
    crowd.waiting--
    crowd.working++
  }
}

/** Lets a request be answered, for as long as that takes, without being counted among the working ones. */
export function leaveCrowd({ app }: Request) {
  app.place?.release()
  delete app.place
}

/** The place of one request in a crowd, left when all that hold it have released it. */
function openPlace(crowd: Crowd, onLeave: () => void): Place {
  let holders = 1
  return {
    crowd,
    hold: () => void holders++,
    release() {
      if (--holders > 0) return
      crowd.working--
      onLeave()
    },
  }
}

function tooManyAtOnce(plan: Plan) {
  const detail = `${CONCURRENT_REQUESTS[plan]} requests of the organization are being worked on already`
  return limitReached('concurrent_requests', 1, 'too_many_at_once', detail)
}

/** Requests of one organization that wait for jobs; each looks once a second. */
const MAX_WAITING = 200

/** The requests of an organization that are under way. */
interface Crowd {
  working: number
  waiting: number
}

interface Place {
  readonly crowd: Crowd
  hold(): void
  release(): void
}

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Undefined for a request that is not counted. */
    place?: Place
  }
}
