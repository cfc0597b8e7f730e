import { MAX_EVALUATORS, MAX_PATTERNS } from '../../../jobs/rules/evals/check-configs.ts'
import { MAX_SKILLS } from '../../../jobs/rules/skills/skill.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { countEvaluators, listEvaluators } from '../../../sql/evals/evaluators.ts'
import { findSkills } from '../../../sql/import/restored-references.ts'
import { countRoom } from '../../../sql/transactions/add-skills.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { overLimit } from './ready-rows.ts'
import type { ReadyRows } from './ready-rows.ts'
import type { RestoredEntry } from './restored-columns.ts'

/** Evaluators, as many as each project may have. */
export async function withinEvaluators(
  tx: Transaction,
  orgId: string,
  rows: readonly RestoredEntry[],
): Promise<ReadyRows> {
  const parts: ReadyRows[] = []
  for (const [projectId, some] of Map.groupBy(rows, ({ row }) => row['project_id'] as string)) {
    const present = await listEvaluators(tx, orgId, [projectId])
    const keys = new Set(present.map(({ name, agent_name }) => keyOf(name, agent_name)))
    const count = await countEvaluators(tx, orgId, projectId)
    const evaluatorKey = ({ row }: RestoredEntry) => keyOf(row['name'], row['agent_name'])
    parts.push(
      withinRoom(some, keys, evaluatorKey, ({ row }) => {
        const isPattern = row['type'] === 'regex'
        const fault = faultOfCount(count, isPattern)
        if (fault !== undefined) return fault
        count.total++
        if (isPattern) count.patterns++
        return undefined
      }),
    )
  }
  return {
    ready: parts.flatMap(({ ready }) => ready),
    faults: parts.flatMap(({ faults }) => faults),
    conflictCount: 0,
  }
}

/** Skills, as many as an organization may have. */
export async function withinSkills(
  tx: Transaction,
  orgId: string,
  rows: readonly RestoredEntry[],
): Promise<ReadyRows> {
  const nameOf = ({ row }: RestoredEntry) => row['name'] as string
  const names = new Set((await findSkills(tx, orgId, rows.map(nameOf))).keys())
  let room = await countRoom(tx, orgId)
  return withinRoom(rows, names, nameOf, () => (room-- > 0 ? undefined : TOO_MANY_SKILLS))
}

/**
 * The rows whose keys are there, and of the others those that there is room for.
 * @param keys those that are there; those of further rows are added
 * @param take takes the room of a row, or says why there is none
 */
function withinRoom(
  rows: readonly RestoredEntry[],
  keys: Set<string>,
  keyOfRow: (each: RestoredEntry) => string,
  take: (each: RestoredEntry) => string | undefined,
): ReadyRows {
  const ready: RestoredEntry[] = []
  const faults: LineFault[] = []
  for (const each of rows) {
    const key = keyOfRow(each)
    const fault = keys.has(key) ? undefined : take(each)
    if (fault !== undefined) {
      faults.push(overLimit(each, fault))
      continue
    }
    keys.add(key)
    ready.push(each)
  }
  return { ready, faults, conflictCount: 0 }
}

function keyOf(name: unknown, agentName: unknown) {
  return JSON.stringify([name, agentName])
}

function faultOfCount(
  { total, patterns }: { total: number; patterns: number },
  isPattern: boolean,
) {
  if (total >= MAX_EVALUATORS) return `A project has at most ${MAX_EVALUATORS} evaluators`
  if (!isPattern || patterns < MAX_PATTERNS) return undefined
  return `A project has at most ${MAX_PATTERNS} evaluators of type regex`
}

const TOO_MANY_SKILLS = `An organization has at most ${MAX_SKILLS} skills`
