import { detectViolations } from '../../jobs/detect-violations.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { linkTraces } from '../../jobs/link-traces.ts'
import type { Queue } from '../../jobs/queue.ts'
import { box, unbox } from '../../jobs/rules/import/box.ts'
import { scanSkill } from '../../jobs/scan-skill.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Sql, Transaction } from '../core/db.ts'
import { listUnsettled } from '../evals/verdicts.ts'
import { findNextChunk } from '../import/import-parts.ts'
import type { ImportRow } from '../import/imports.ts'
import { startRetargeting } from './activate-manifest.ts'

/** What is left to do with what a chunk of a backup has brought, once no more of it comes. */
export interface RestoreTodo {
  /** Traces, by project: they are searched for what no backup has, and judged where their decision is missing or older than a score. */
  readonly searched: readonly (readonly [projectId: string, traceIds: readonly string[]])[]
  /** Manifests that earlier traces named. */
  readonly links: readonly string[]
  /** Manifests that are the active ones of agents which had traces before. */
  readonly retargets: readonly Retarget[]
  /** Versions of skills; absent where the release before has staged it. */
  readonly scans?: readonly string[]
}

export interface Retarget {
  readonly project_id: string
  readonly agent_name: string
  readonly manifest_id: string
}

type Restore = Pick<ImportRow, 'id' | 'org_id' | 'created_by'>

export function boxTodo(todo: RestoreTodo): Uint8Array {
  return box(JSON.stringify([todo]))
}

/** Requests what is left to do with a chunk. @param content of `boxTodo` */
export async function followChunk(
  tx: Transaction,
  queue: Queue,
  { org_id: orgId, created_by: createdBy }: Restore,
  content: Uint8Array,
) {
  const [todo] = JSON.parse(unbox(content).toString()) as [RestoreTodo]
  for (const id of todo.links)
    await queue.enqueue(tx, linkTraces, { manifest_id: id }, { orgId, key: id })
  for (const { project_id: projectId, agent_name: agentName, manifest_id } of todo.retargets) {
    await startRetargeting(tx, queue, { orgId, projectId, agentName }, manifest_id, { createdBy })
  }
  for (const id of todo.scans ?? [])
    await queue.enqueue(tx, scanSkill, { version_id: id }, { orgId, key: id })
  for (const [projectId, ids] of todo.searched) {
    const unjudged = await listUnsettled(tx, orgId, projectId, ids)
    await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, unjudged)
    await enqueueTraces(queue, tx, detectViolations, orgId, projectId, ids)
  }
}

/**
 * Requests what is left to do with all that a restore has brought which goes on no more: what it stored stays,
 * whether it ended with the whole or not. Doing so twice changes nothing.
 */
export async function followRestore(sql: Sql, queue: Queue, restore: Restore) {
  const key = { orgId: restore.org_id, importId: restore.id }
  for (let after = -1; ;) {
    const chunk = await findNextChunk(sql, key, after)
    if (!chunk) return
    await queue.transaction(sql, (tx: Transaction) => followChunk(tx, queue, restore, chunk.spans))
    after = chunk.chunk_no
  }
}
