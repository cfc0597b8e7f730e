import type { Service } from '../service.ts'
import { settled } from '../settled.ts'

export type Maker = ReturnType<typeof openMaker>

/** Sends requests of an organization, each of which must be taken. */
export function openMaker(service: Service, org: { readonly orgId: string; readonly key: string }) {
  const client = service.client(org.key)
  async function send(method: string, path: string, body?: unknown, more: object = {}) {
    const answer = await client.call(method, path, body, { prefer: 'wait=50', ...more })
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const post = (path: string, body: unknown = {}) => send('POST', path, body)
  return {
    service,
    ...org,
    post,
    get: (path: string) => send('GET', path),
    put: (path: string, body: unknown) => send('PUT', path, body),
    /** The id of what was made, or another member of the answer. */
    async id(path: string, body: unknown, member = 'id'): Promise<string> {
      const id: unknown = (await post(path, body))[member]
      if (typeof id !== 'string') throw new Error(`POST ${path}: no ${member}`)
      return id
    },
    /** Imports a file of these records, none of which may be refused. */
    async importLines(records: readonly object[]) {
      const file = records.map((record) => `${JSON.stringify(record)}\n`).join('')
      const imported = await send('POST', '/import/jsonl', file, LINES)
      const { errors } = await send('GET', `/import/${imported.import_id}/errors`)
      if (errors.length > 0) throw new Error(JSON.stringify(errors))
    },
    settled: () => settled(service.sql, org.orgId),
  }
}

const LINES = { 'content-type': 'application/x-ndjson' }
