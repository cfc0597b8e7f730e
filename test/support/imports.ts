import { spawn } from 'node:child_process'
import type { Test } from 'tap'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** Submits files and reads what importing them leaves behind. */
export function openImports(t: Test, service: Service) {
  const { sql } = service

  async function submit(file: string | Buffer, query = '', org?: Organization) {
    const owner = org ?? (await service.makeOrganization())
    const client = service.client(owner.key)
    return follow(owner, await client.call('POST', `/import/jsonl${query}`, file, LINES))
  }

  /** Follows an import by the answer to its request. */
  function follow(
    owner: Organization,
    { body }: { body: { import_id?: string; job_id?: string } },
  ) {
    const client = service.client(owner.key)
    const show = async () => {
      if (!body.import_id) throw new Error(`There is no import: ${JSON.stringify(body)}`)
      return (await client.get(`/import/${body.import_id}`)).body
    }
    return {
      ...owner,
      ...client,
      importId: body.import_id as string,
      jobId: body.job_id as string,
      show,
      // Asked of the database: requests without end would use up the limit of a small plan.
      async ended() {
        const { import_id: id } = await show()
        await until(async () => {
          const [row] = await sql`
            select 1 from imports i join jobs j on j.org_id = i.org_id and j.id = i.job_id
            where i.id = ${id} and j.finished_at is not null`
          return row !== undefined
        })
        return show()
      },
    }
  }

  /** Everything that an import leaves behind, without ids and times made on the way. */
  async function stateOf({ orgId, importId, show }: Submitted) {
    const traces = await sql`
      select trace_id, agent_name, task_id, status, metadata,
        nullif(started_at, (select created_at from imports where id = ${importId})) as started_at,
        content_hash, content
      from traces where org_id = ${orgId} order by trace_id`
    const scores = await sql`
      select trace_id, name, value, identifier, span_id from eval_scores
      where org_id = ${orgId} order by trace_id, name, identifier`
    const errors = await sql`
      select line, code from import_errors where org_id = ${orgId} order by line`
    const judged = await sql<{ id: string }[]>`
      select jsonb_array_elements_text(data->'payload'->'trace_ids') as id from pgboss.job
      where name = 'evals.judge' and data->>'org_id' = ${orgId} order by id`
    const { imported_count, skipped_count, error_count, scores_imported, losses, progress } =
      await show()
    return {
      traces: [...traces],
      scores: [...scores],
      errors: [...errors],
      judged: judged.map(({ id }) => id),
      counts: {
        imported_count,
        skipped_count,
        error_count,
        scores_imported,
        losses,
        progress,
      },
    }
  }

  async function claimOf({ jobId }: Submitted) {
    const [row] = await sql`
      select j.state, attempt, interruptions, retry_count
      from jobs j left join pgboss.job q on q.id = j.queue_job_id where j.id = ${jobId}`
    return row
  }

  /** What supervision does once it has missed the heartbeats of a claim, without the wait. */
  async function rescue({ jobId }: Submitted) {
    await sql`
      update pgboss.job set state = 'retry', retry_count = retry_count + 1, start_after = now()
      where state = 'active' and data->>'job_id' = ${jobId}`
  }

  /**
   * A process that imports in chunks and pages of about so many bytes.
   * @param halt a number of its checkpoint: it stores one step in which that grows and halts in the next, to be killed
   */
  function startProcess(bytes: number, halt = '') {
    const program = new URL('../workers/import/import-process.ts', import.meta.url).pathname
    const args = [program, service.url, service.config.DATA_DIR, String(bytes), halt]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    return child
  }

  /** How many rows are staged. */
  async function countStaged() {
    const [row] = await sql<[{ n: number }]>`
      select (select count(*) from import_parts)::int + (select count(*) from import_traces)::int
        + (select count(*) from import_chunks)::int as n`
    return row.n
  }

  return { submit, follow, stateOf, claimOf, rescue, startProcess, countStaged }
}

export const LINES = { 'content-type': 'application/x-ndjson', prefer: 'respond-async' }

type Organization = Awaited<ReturnType<Service['makeOrganization']>>
export type Submitted = Awaited<ReturnType<ReturnType<typeof openImports>['submit']>>
