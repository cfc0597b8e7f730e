import t from 'tap'
import { gzipSync } from 'node:zlib'
import { MAX_BODY_BYTES, MAX_MEMBERS, MAX_VALUES } from '../../api/read-body.ts'
import type { Document } from '../support/document.ts'
import { openTestDatabase } from '../support/database.ts'
import { makeOrganization } from '../support/service.ts'
import { startWatchedApi } from '../support/watched-api.ts'
import { worstBodies, freeValues } from '../support/worst-bodies.ts'

/** The aims for any one request. */
const MAX_HOLD_MS = 100
const MAX_RSS_BYTES = 600 << 20

t.test('the worst body of an operation', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const { key } = await makeOrganization(sql, 'enterprise')
  const api = await startWatchedApi(t, url)
  const headers = { prefer: 'respond-async', authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const document = (await (await fetch(`${api.address}/openapi.json`)).json()) as Document

  const send = async (
    t: { ok: (a: unknown, m: string) => unknown },
    method: string,
    path: string,
    what: string,
    body: Buffer,
    more = {},
  ) => {
    await api.watched()
    const response = await fetch(`${api.address}${path}`, {
      method,
      headers: { ...headers, ...more },
      body: body as never,
    })
    const text = await response.text()
    const { holdMs, rssBytes } = await api.watched()
    console.error(
      `${response.status} ${Math.round(holdMs)}ms ${rssBytes >> 20}M ${method} ${path} ${what} ${body.length >> 10}K ${text.slice(0, 90)}`,
    )
    t.ok(response.status < 500, `${method} ${path}: ${what}: ${text.slice(0, 200)}`)
    t.ok(holdMs <= MAX_HOLD_MS, `${method} ${path}: ${what}: ${holdMs} ms`)
    t.ok(rssBytes <= MAX_RSS_BYTES, `${method} ${path}: ${what}: ${rssBytes >> 20} MiB`)
  }
  const limits = { values: MAX_VALUES, bytes: MAX_BODY_BYTES, members: MAX_MEMBERS - 1 }
  const only = process.env['ONLY']
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const schema = requestBody?.content['application/json']?.schema
      if (!schema || (only && !path.endsWith(only))) continue
      for (const { name, value } of worstBodies(document, schema, limits)) {
        await send(
          t,
          method.toUpperCase(),
          path.replaceAll(/\{\w+\}/g, '01a20080-6a47-7000-8000-4f1d2a9c3b5e'),
          name,
          Buffer.from(JSON.stringify(value)),
        )
      }
    }
  }
})
