import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { request } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type { Sql } from '../../sql/core/db.ts'
import type { ServiceProcess } from './service-processes.ts'

/** Imports a file and waits for the end of it. @throws Error when it does not succeed */
export async function importFile(sql: Sql, api: ServiceProcess, key: string, path: string) {
  const start = performance.now()
  const id = await upload(api, key, path)
  const uploadSeconds = (performance.now() - start) / 1000
  return { ...(await importEnded(sql, id)), uploadSeconds }
}

/** The import's id; it goes on behind the answer. */
export async function upload(api: ServiceProcess, key: string, path: string) {
  const call = request(`${api.address}/api/v1/import/jsonl`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/x-ndjson',
      prefer: 'respond-async',
    },
  })
  const answered: Promise<AsyncIterable<Buffer>[]> = once(call, 'response')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), call)
  const [response] = await answered
  const text = Buffer.concat(await Array.fromAsync(response ?? [])).toString()
  const { import_id: id }: { import_id?: string } = JSON.parse(text)
  if (!id) throw new Error(text)
  return id
}

export async function importEnded(sql: Sql, importId: string) {
  for (;;) {
    const found = await findImport(sql, importId)
    if (found.finished) {
      if (found.state !== 'succeeded') throw new Error(`The import ${found.state}`)
      return found
    }
    await setTimeout(100)
  }
}

export async function findImport(sql: Sql, id: string) {
  const [row] = await sql<ImportState[]>`
    select state, finished_at is not null as finished, lines_done as lines,
      imported_count as imported, skipped_count as skipped, error_count as errors,
      scores_imported as scores, coalesce((j.checkpoint->>'assembled')::int, 0) as assembled,
      extract(epoch from finished_at - started_at)::float8 as seconds
    from imports i join jobs j on j.org_id = i.org_id and j.id = i.job_id where i.id = ${id}`
  if (!row) throw new Error('The import is gone')
  return row
}

/** How far an import is. */
export interface ImportState {
  readonly state: string
  readonly finished: boolean
  readonly lines: number
  /** Traces that were put together of pieces. */
  readonly assembled: number
  readonly imported: number
  readonly skipped: number
  readonly errors: number
  readonly scores: number
  readonly seconds: number
}
