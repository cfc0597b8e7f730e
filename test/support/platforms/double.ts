import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { randomOf } from '../random.ts'

/** How often each fault happens. Their order is random, and the same for the same seed. */
export interface DoubleFaults {
  /** 429 with a Retry-After of a second. */
  readonly tooManyUntil?: number
  /** 429 without a Retry-After. */
  readonly tooMany?: number
  /** The connection is dropped, before the answer or in the middle of it. */
  readonly dropped?: number
  /** A page's cursor is refused as expired. */
  readonly expired?: number
  readonly unavailable?: number
  /** An answer that is a stream ends before its first line, as if there were none. */
  readonly silent?: number
}

export interface DoubleOptions {
  readonly faults?: DoubleFaults
  readonly seed?: number
  /** Pages begin with the last row of the page before, and windows hold what begins at their end. */
  readonly repeats?: boolean
  /** Most rows of a page, whatever is asked for; default as many as the platform gives. */
  readonly mostRows?: number
}

export interface PlatformCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  /** Undefined without one. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface PlatformReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Lines of JSON, where the answer is a stream of them. */
  readonly lines?: readonly unknown[]
}

/** What a double of one platform knows. */
export interface PlatformApi {
  isAllowed(headers: PlatformCall['headers']): boolean
  answer(call: PlatformCall): PlatformReply
  /** Whether a call has the cursor of an earlier page. */
  hasCursor(call: PlatformCall): boolean
  /** How an expired cursor is refused. */
  readonly expiredStatus: number
  /** Whether a call is answered by a stream. */
  isStreamed?(call: PlatformCall): boolean
}

/** A platform on loopback. */
export async function startDouble(t: Test, api: PlatformApi, options: DoubleOptions = {}) {
  const random = randomOf(options.seed ?? 1)
  const left = new Map(Object.entries(options.faults ?? {}))
  const calls: PlatformCall[] = []
  const happened: FaultName[] = []
  /** Calls until the next fault. */
  let healthy = 1
  const double = {
    /** Asked before each call is answered, and waited for. */
    onCall: (_call: PlatformCall): MayReply | Promise<MayReply> => undefined,
  }

  /** The fault that this call meets: one of those left, a call or two after the last one. */
  function nextFault(call: PlatformCall): FaultName | undefined {
    if (healthy-- > 0) return undefined
    const possible = [...left]
      .filter(([name, count]) => count > 0 && mayHappen(name as FaultName, call))
      .map(([name]) => name as FaultName)
    const name = possible[Math.floor(random() * possible.length)]
    if (name === undefined) return undefined
    healthy = 1 + Math.floor(random() * 2)
    left.set(name, (left.get(name) ?? 0) - 1)
    happened.push(name)
    return name
  }

  function mayHappen(name: FaultName, call: PlatformCall) {
    if (name === 'expired') return api.hasCursor(call)
    return name !== 'silent' || api.isStreamed?.(call) === true
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://double')
    const sent = await text(request)
    const { method = '', headers } = request
    const call = { method, path, query, headers, body: sent ? JSON.parse(sent) : undefined }
    calls.push(call)
    const fault = nextFault(call)
    if (fault === 'dropped' && random() < 0.5) return void request.socket.destroy()
    const reply = refusalOf(fault, api) ?? (await double.onCall(call)) ?? answer(call)
    const body = reply.lines
      ? reply.lines.map((line) => `${JSON.stringify(line)}\r\n`).join('')
      : JSON.stringify(reply.json ?? {})
    response.writeHead(reply.status ?? 200, {
      'content-type': reply.lines ? 'application/octet-stream' : 'application/json',
      'content-length': Buffer.byteLength(body),
      ...reply.headers,
      ...(fault === 'tooManyUntil' && { 'retry-after': '1' }),
    })
    if (fault !== 'dropped') return void response.end(body)
    response.write(body.slice(0, body.length / 2), () => request.socket.destroy())
  }

  function answer(call: PlatformCall): PlatformReply {
    if (api.isAllowed(call.headers)) return api.answer(call)
    // Some servers show the client what it sent.
    return { status: 401, json: { message: `Unknown key: ${JSON.stringify(call.headers)}` } }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return Object.assign(double, {
    url: `http://127.0.0.1:${port}`,
    calls,
    /** The faults in their order. */
    happened,
    /** How many faults did not happen yet. */
    faultsLeft: () => [...left.values()].reduce((sum, count) => sum + count, 0),
  })
}

function refusalOf(fault: FaultName | undefined, api: PlatformApi): PlatformReply | undefined {
  switch (fault) {
    case 'tooMany':
    case 'tooManyUntil':
      return { status: 429, json: { message: 'Slow down' } }
    case 'expired':
      return { status: api.expiredStatus, json: { detail: 'Invalid cursor' } }
    case 'unavailable':
      return { status: 503, json: { message: 'Come back later' } }
    case 'silent':
      return { lines: [] }
    case 'dropped':
    case undefined:
      return undefined
  }
}

/** The rows of a page, and whether there are more behind them. */
export function pageOf<Row>(
  rows: readonly Row[],
  { from, limit, repeats = false }: { from: number; limit: number; repeats?: boolean },
) {
  return {
    rows: rows.slice(repeats && from > 0 ? from - 1 : from, from + limit),
    hasMore: from + limit < rows.length,
    next: from + limit,
  }
}

/** Rows that begin in a window, and with `repeats` those that begin at its end. */
export function inWindow<Row extends { at: Date }>(
  rows: readonly Row[],
  [from, to]: readonly [unknown, unknown],
  repeats = false,
): Row[] {
  const [begin, end] = [from, to].map((time) => Date.parse(String(time))) as [number, number]
  return rows.filter(({ at }) => {
    const time = at.getTime()
    return !(time < begin) && !(repeats ? time > end : time >= end)
  })
}

type MayReply = PlatformReply | undefined
export type FaultName = keyof DoubleFaults
export type Double = Awaited<ReturnType<typeof startDouble>>
