import { MAX_SKILLS } from '../../../jobs/rules/skills/skill.ts'
import { box, unbox } from '../../../jobs/rules/import/box.ts'
import {
  deleteVersionless,
  listVersionlessLines,
  listWaitingSkills,
  stageSkills,
} from '../../../sql/import/restored-skills.ts'
import type { WaitingSkill } from '../../../sql/import/restored-skills.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import type { Entry } from './parse-lines.ts'
import type { Restoring } from './restore-state.ts'
import type { RestoredEntry } from './restored-columns.ts'

/**
 * The skills of which a version comes in this chunk, those that waited for it first. The others wait: a skill
 * without a version is none that could be shown, so that both are stored in one transaction.
 * @returns whether any has to wait, too
 */
export async function withVersions(
  { tx, key, chunkNo }: Restoring,
  skills: readonly Entry[],
  versions: readonly Entry[],
): Promise<{ ready: readonly Entry[]; hasWaiting: boolean }> {
  const names = new Set(versions.map(({ values }) => values['skill'] as string))
  const waited = names.size > 0 ? await listWaitingSkills(tx, key, [...names]) : []
  const waiting = skills.filter((each) => !names.has(nameOf(each)))
  await stageSkills(tx, key, chunkNo, waiting.map(toWaiting))
  const ready = [...waited.map(toEntry), ...skills.filter((each) => names.has(nameOf(each)))]
  return { ready, hasWaiting: waiting.length > 0 }
}

/**
 * Takes away again the skills that were stored and of which no version could be; another one may come.
 * @param skills those of the chunk
 * @returns how many there were
 */
export async function withoutVersionless(
  { tx, key, chunkNo }: Restoring,
  taken: readonly RestoredEntry[],
  skills: readonly Entry[],
): Promise<number> {
  const ids = taken.map(({ row }) => row['id'] as string)
  const names = await deleteVersionless(tx, key.orgId, ids)
  const again = skills.filter((each) => names.has(nameOf(each)))
  await stageSkills(tx, key, chunkNo, again.map(toWaiting))
  return names.size
}

/** The skills that have waited in vain. */
export async function versionlessFaults({ tx, key }: Restoring): Promise<LineFault[]> {
  const lines = await listVersionlessLines(tx, key, MAX_TOLD)
  return lines.map((line) => ({ line, ...WITHOUT_VERSION }))
}

function nameOf({ values }: Entry) {
  return values['name'] as string
}

function toWaiting(entry: Entry): WaitingSkill {
  const content = box(JSON.stringify([entry.values]))
  return { name: nameOf(entry), line: entry.line, content }
}

function toEntry({ line, content }: WaitingSkill): Entry {
  const [values] = JSON.parse(unbox(content).toString()) as [Entry['values']]
  return { line, kind: 'skill', values }
}

const WITHOUT_VERSION = {
  code: 'without_version',
  message: 'No version of the skill could be restored, and there is none without one',
}
/** As many as an organization may have. */
const MAX_TOLD = MAX_SKILLS
