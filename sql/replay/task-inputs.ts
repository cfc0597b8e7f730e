import { setImmediate } from 'node:timers/promises'
import type { SkipReason } from '../../jobs/rules/replay/replayability.ts'
import { makeTaskInput } from '../../jobs/rules/replay/task-input.ts'
import type { TargetManifest, TaskInput } from '../../jobs/rules/replay/task-input.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import type { Queryable } from '../core/db.ts'
import { versionLabel } from '../manifests/manifests.ts'
import { listContentBytes, listRecordedTraces, nameText, openRecorded } from './recorded-traces.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'

/** What names the trace of a task and the version it is to be run as. */
export interface InputTask {
  readonly id: string
  readonly project_id: string
  readonly trace_id: string
  readonly target_manifest_id: string | null
}

/**
 * What runners are given for tasks, by task id; null for a task whose trace is gone, and nothing for one
 * whose trace cannot be opened. Contents are read a few at a time, because they are large.
 * @param pause is awaited between parts of the work, so that others have their turn
 */
export async function readTaskInputs(
  sql: Queryable,
  orgId: string,
  tasks: readonly InputTask[],
  pause: Pause = setImmediate,
): Promise<Map<string, TaskInput | null>> {
  const inputs = new Map<string, TaskInput | null>(tasks.map(({ id }) => [id, null]))
  const byTrace = Map.groupBy(tasks, nameText)
  const targets = await listTargets(sql, orgId, tasks)
  const sizes = await listContentBytes(sql, orgId, tasks)
  for await (const batch of contentBatches([sizes], BATCH)) {
    for (const row of await listRecordedTraces(sql, orgId, batch)) {
      const trace = await openRecorded(row, pause)
      for (const task of byTrace.get(nameText(row)) ?? []) {
        if (trace) inputs.set(task.id, await makeTaskInput(trace, targetOf(targets, task), pause))
        else inputs.delete(task.id)
        await pause()
      }
    }
  }
  return inputs
}

/** Why a task that `readTaskInputs` gives no input for is skipped. */
export function lackOf(input: null | undefined): SkipReason {
  return input === null ? 'trace_gone' : 'trace_unreadable'
}

/** The versions that tasks are to be run as, by id. */
async function listTargets(
  sql: Queryable,
  orgId: string,
  tasks: readonly InputTask[],
): Promise<Map<string, TargetManifest>> {
  const ids = new Set(tasks.flatMap(({ target_manifest_id: id }) => id ?? []))
  const rows = await sql<{ id: string; shown_hash: string; version_number: number }[]>`
    select id, shown_hash, version_number from manifests
    where org_id = ${orgId} and id = any(${[...ids]}::uuid[])`
  return new Map(
    rows.map((row) => [
      row.id,
      { manifest_id: row.id, manifest_hash: row.shown_hash, version_label: versionLabel(row) },
    ]),
  )
}

function targetOf(targets: ReadonlyMap<string, TargetManifest>, { target_manifest_id }: InputTask) {
  return (target_manifest_id !== null && targets.get(target_manifest_id)) || null
}

/** The bytes are compressed, about a quarter of the content. */
const BATCH = { traces: 50, bytes: 1 << 20 }
