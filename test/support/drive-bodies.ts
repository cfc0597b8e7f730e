import type { Test } from 'tap'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { fullPath } from '../../api/endpoint.ts'
import { EXAMPLE_ID } from '../../api/fields.ts'
import { MAX_BODY_BYTES } from '../../api/read-body.ts'
import { MAX_MEMBERS, MAX_VALUES } from '../../jobs/rules/core/json-scan.ts'
import { operations } from '../../api/routes.ts'
import { openTestDatabase } from './database.ts'
import type { Document } from './document.ts'
import { makeOrganization } from './service.ts'
import { startWatchedApi } from './watched-api.ts'
import { largeBodies, openWorstBodies } from './worst-bodies.ts'

/**
 * Sends every operation the worst bodies that its limits admit, one after the other, and holds the
 * process that serves them to the aims.
 * @param isTried which of them are sent, by operation and name
 */
export async function driveBodies(t: Test, isTried: (path: string, name: string) => boolean) {
  const { url, sql } = await openTestDatabase(t)
  const { key } = await makeOrganization(sql, 'enterprise')
  const api = await startWatchedApi(t, url)
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    prefer: 'respond-async',
  }

  async function post(method: string, path: string, body: Buffer) {
    const isZipped = body[0] === GZIP_BYTE
    const isProtobuf = body[0] === PROTOBUF_BYTE
    const response = await fetch(
      `${api.address}${fullPath(path.replaceAll(/\{\w+\}/g, EXAMPLE_ID))}`,
      {
        method,
        headers: {
          ...headers,
          ...(isZipped && { 'content-encoding': 'gzip' }),
          ...(isProtobuf && { 'content-type': 'application/x-protobuf' }),
        },
        body: body as never,
      },
    )
    const text = await response.text()
    return { status: response.status, text, ...(await api.watched()) }
  }

  async function send(method: string, path: string, name: string, make: () => unknown) {
    if (!isTried(path, name)) return
    const body = jsonBytes(make())
    const { status, text, ...first } = await post(method, path, body)
    const what = `${method} ${path}, ${name}`
    t.ok(status < 500, `${what}: ${status} ${text.slice(0, 200)}`)
    // When the collector comes is chance. What takes too much takes it each time.
    let { holdMs, rssBytes } = first
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (holdMs <= MAX_HOLD_MS && rssBytes <= MAX_RSS_BYTES) break
      if (rssBytes > MAX_RSS_BYTES) await settle()
      const again = await post(method, path, body)
      holdMs = Math.min(holdMs, again.holdMs)
      rssBytes = Math.min(rssBytes, again.rssBytes)
    }
    t.ok(holdMs <= MAX_HOLD_MS, `${what}: ${Math.round(holdMs)} ms`)
    t.ok(rssBytes <= MAX_RSS_BYTES, `${what}: ${rssBytes >> 20} MiB`)
  }

  /** Waits until what the bodies before have left is given back to the system, which takes idle seconds. */
  async function settle() {
    const { rssBytes: before } = await api.watched()
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      await setTimeout(LOOK_MS)
      if ((await api.watched()).rssBytes < before - GIVEN_BACK_BYTES) return
    }
  }

  const document = (await (await fetch(`${api.address}/openapi.json`)).json()) as Document
  // What it did to start does not count.
  await api.watched()
  const bomb = gzipSync(Buffer.alloc(50 << 20, '[],'), { level: 1 })
  const bodiesOf = openWorstBodies(document, LIMITS)
  await send('POST', '/traces', 'a trace to be found', () => ({ trace_id: EXAMPLE_ID }))
  for (const { method, path, body } of operations) {
    // A streamed body is never in memory as a whole.
    if (!body || 'stream' in body) continue
    const described = document.paths[fullPath(path)]?.[method.toLowerCase()]?.requestBody
    const bodies: [string, () => unknown][] = [
      ...bodiesOf(described?.content['application/json']?.schema ?? {}),
      ['a bomb of lists', () => bomb],
      ...largeBodies(path, LIMITS),
    ]
    for (const [name, make] of bodies) await send(method, path, name, make)
  }
}

const jsonBytes = (value: unknown) =>
  Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))

const LIMITS = { values: MAX_VALUES, bytes: MAX_BODY_BYTES, members: MAX_MEMBERS - 1 }
/** The aims for any one request; a processor that others share takes several times as long for the same. */
const MAX_HOLD_MS = process.env['FAULTS'] === 'long' ? 100 : 500
/** Of the largest bodies, 550 MiB each; what the one before has left may stand beside it. */
const MAX_RSS_BYTES = 640 << 20
const MAX_TRIES = 3
const LOOK_MS = 1000
const MAX_LOOKS = 10
const GIVEN_BACK_BYTES = 32 << 20
const GZIP_BYTE = 0x1f
/** No JSON begins so that these tests send. */
const PROTOBUF_BYTE = 0x0a
