import { faultyLines, foreignExport } from '../../jobs/rules/demo/uploads.ts'
import type { ApiClient } from '../api-client.ts'

/** Two imports that lose something: one by its lines, one by what another platform has that we have not. */
export async function importWithLosses(client: ApiClient, now: Date) {
  const { imports } = await client.get<{
    imports: readonly { source: string; error_count: number }[]
  }>('/import?limit=100')
  if (!imports.some(({ source, error_count: count }) => source === 'traces' && count > 0)) {
    await importLines(client, '/import/jsonl', faultyLines(now))
  }
  if (!imports.some(({ source }) => source === 'langfuse')) {
    await importLines(client, '/import/jsonl?source=langfuse', foreignExport(now))
  }
}

export async function importLines(client: ApiClient, path: string, lines: string) {
  const type = 'application/x-ndjson'
  const started = await client.post<{ import_id: string; job_id: string }>(path, lines, { type })
  await client.waitForJob(started?.job_id ?? '')
  return client.get<ImportAnswer>(`/import/${started?.import_id}`)
}

interface ImportAnswer {
  readonly imported_count: number
  readonly skipped_count: number
}
