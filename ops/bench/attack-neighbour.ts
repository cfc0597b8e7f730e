// A client of another organization, in a process of its own: asks GET /auth/me every 20 ms at ADDRESS with
// KEY, each time over a new connection and without waiting for the answer before. Any message from the
// parent ends it, after it has sent back what it got; the end of the parent ends it too.
import { once } from 'node:events'
import { request } from 'node:http'

/** What the neighbour got; a request without an answer took until the end. */
export interface NeighbourFigures {
  readonly asked: number
  /** Answered with another status than 200, or not at all. */
  readonly failed: number
  /** Why, of the first of them. */
  readonly fault: string | null
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const PERIOD_MS = 20
/** What is on its way when the attack ends may still arrive, also on a busy machine. */
const GRACE_MS = 30_000
/** Answers after which the neighbour says that it is running. */
const WARM = 10

const { ADDRESS = '', KEY = '' } = process.env
const startedAt: number[] = []
const tookMs: number[] = []
let failed = 0
let fault: string | null = null

const asking = setInterval(ask, PERIOD_MS)
await Promise.race([once(process, 'message'), once(process, 'disconnect')])
clearInterval(asking)
const deadline = performance.now() + GRACE_MS
while (process.connected && tookMs.length < startedAt.length && performance.now() < deadline) {
  await new Promise((resolve) => setTimeout(resolve, PERIOD_MS))
}
if (process.connected) process.send?.(figures(), () => process.disconnect?.())

function ask() {
  const at = performance.now()
  const index = startedAt.push(at) - 1
  const done = (problem: string | null) => {
    startedAt[index] = NaN
    if (problem !== null) failed++
    fault ??= problem
    if (tookMs.push(performance.now() - at) === WARM) process.send?.('warm')
  }
  request(`${ADDRESS}/api/v1/auth/me`, {
    agent: false,
    headers: { authorization: `Bearer ${KEY}` },
  })
    .on('response', (response) => {
      const { statusCode } = response
      response.resume().once('end', () => done(statusCode === 200 ? null : `status ${statusCode}`))
    })
    .on('error', ({ message }) => done(message))
    .end()
}

function figures(): NeighbourFigures {
  const waiting = startedAt.filter((at) => !Number.isNaN(at)).map((at) => performance.now() - at)
  const sorted = [...tookMs, ...waiting].sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)
  return {
    asked: sorted.length,
    failed: failed + waiting.length,
    fault: fault ?? (waiting.length > 0 ? 'no answer' : null),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  }
}
