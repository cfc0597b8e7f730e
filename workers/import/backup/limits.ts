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
  const ready: RestoredEntry[] = []
  const faults: LineFault[] = []
  for (const [projectId, some] of Map.groupBy(rows, ({ row }) => row['project_id'] as string)) {
    const present = await listEvaluators(tx, orgId, [projectId])
    const keys = new Set(present.map(({ name, agent_name }) => keyOf(name, agent_name)))
    const count = await countEvaluators(tx, orgId, projectId)
    for (const each of some) {
      const { name, agent_name, type } = each.row
      const key = keyOf(name, agent_name)
      const isNew = !keys.has(key)
      const isPattern = type === 'regex'
      const fault = isNew ? faultOfCount(count, isPattern) : undefined
      if (fault !== undefined) faults.push(overLimit(each, fault))
      else ready.push(each)
      if (!isNew || fault !== undefined) continue
      keys.add(key)
      count.total++
      if (isPattern) count.patterns++
    }
  }
  return { ready, faults, conflictCount: 0 }
}

/** Skills, as many as an organization may have. */
export async function withinSkills(
  tx: Transaction,
  orgId: string,
  rows: readonly RestoredEntry[],
): Promise<ReadyRows> {
  const ready: RestoredEntry[] = []
  const faults: LineFault[] = []
  const nameOf = ({ row }: RestoredEntry) => row['name'] as string
  const names = new Set((await findSkills(tx, orgId, rows.map(nameOf))).keys())
  let room = await countRoom(tx, orgId)
  for (const each of rows) {
    const isNew = !names.has(nameOf(each))
    if (isNew && room <= 0) faults.push(overLimit(each, TOO_MANY_SKILLS))
    else ready.push(each)
    if (!isNew || room <= 0) continue
    names.add(nameOf(each))
    room--
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
