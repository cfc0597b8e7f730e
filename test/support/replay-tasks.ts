import { createHash, randomUUIDv7 } from 'node:crypto'
import type { Sql } from '../../sql/core/db.ts'

interface BatchOptions {
  /** Default one registered for the batch. */
  readonly target?: string
  readonly mode?: 'pull' | 'push'
  readonly agent?: string
  /** Default now; a batch of an earlier time goes first. */
  readonly createdAt?: Date
}

/** A batch that is prepared, with a task for each of the traces, which need not be there. */
export async function insertReplayBatch(
  sql: Sql,
  { orgId, projectId }: { orgId: string; projectId: string },
  traceIds: readonly string[],
  { mode = 'pull', agent = 'agent', createdAt = new Date(), ...options }: BatchOptions = {},
) {
  const id = randomUUIDv7()
  const target = options.target ?? (await insertManifest(sql, orgId, projectId, agent))
  const expiresAt = new Date(Date.now() + 30 * 86_400_000)
  await sql`
    insert into replay_batches (org_id, project_id, id, agent_name, target_manifest_id, trace_ids,
      job_id, mode, runner_url, prepared_at, created_at, expires_at)
    values (${orgId}, ${projectId}, ${id}, ${agent}, ${target}, ${[...traceIds]}::text[],
      ${randomUUIDv7()}, ${mode},
      ${mode === 'push' ? 'https://runner.example' : null}, now(), ${createdAt}, ${expiresAt})`
  const tasks = traceIds.map(() => randomUUIDv7())
  await sql`
    insert into replay_tasks (org_id, project_id, batch_id, id, ordinal, trace_id, replayability,
      status, created_at)
    select ${orgId}, ${projectId}, ${id}, task, n - 1, trace, 'full', 'pending', ${createdAt}
    from unnest(${tasks}::uuid[], ${[...traceIds]}::text[]) with ordinality as t (task, trace, n)`
  return { id, target, tasks }
}

async function insertManifest(sql: Sql, orgId: string, projectId: string, agent: string) {
  const id = randomUUIDv7()
  const hash = `sha256:${createHash('sha256').update(id).digest('hex')}`
  await sql`
    insert into manifests (org_id, project_id, agent_name, id, version_number, manifest_hash,
      shown_hash, contract_hash, status, is_closed_world, components_count)
    select ${orgId}, ${projectId}, ${agent}, ${id}, coalesce(max(version_number), 0) + 1, ${hash},
      ${hash}, ${hash}, 'superseded', false, 0
    from manifests where org_id = ${orgId} and project_id = ${projectId} and agent_name = ${agent}`
  return id
}
