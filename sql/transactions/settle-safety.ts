import { isDeepStrictEqual } from 'node:util'
import { announceSafety } from '../../jobs/announce-safety.ts'
import type { SafetyChange } from '../../jobs/announce-safety.ts'
import type { Queue } from '../../jobs/queue.ts'
import { changedBand } from '../../jobs/rules/skills/changed-band.ts'
import type { Scan } from '../../jobs/rules/skills/scan/finding.ts'
import { SCANNER_VERSION } from '../../jobs/rules/skills/scan/scan-skill.ts'
import type { Transaction } from '../core/db.ts'
import {
  findSafety,
  findScanned,
  insertReview,
  listToldInstallers,
  updatePublicBand,
  upsertScan,
} from '../skills/safety.ts'
import type { SafetyRow, ScannedRow } from '../skills/safety.ts'
import { lockSkills } from '../skills/skills.ts'
import { emitEvent } from './emit-event.ts'

/**
 * Stores what a scan of a version found, shows it in the registry, and tells of a changed band.
 * False, and nothing is stored, when the version is not any more what the scan looked through.
 */
export async function storeScan(
  tx: Transaction,
  queue: Queue,
  version: { orgId: string; id: string; scanned: ScannedRow },
  { scan, at }: { scan: Scan; at: Date },
): Promise<boolean> {
  const { orgId, id, scanned } = version
  await lockSkills(tx, orgId, [scanned.name])
  if (!isDeepStrictEqual(await findScanned(tx, orgId, id), scanned)) return false
  const before = await findSafety(tx, orgId, id)
  const stored = { id, skillId: scanned.skill_id, revision: scanned.revision }
  if (!before || !(await upsertScan(tx, orgId, stored, scan))) return true
  const { reason_codes } = scan
  const shown = { band: before.reviewed ?? scan.band, reason_codes }
  await settle(tx, queue, orgId, { before, shown, at })
  return true
}

/**
 * Stores what the operator decided of a version, which holds against every scan of that content, and tells
 * of a changed band. False when there is no such version of a skill that was not deleted.
 */
export async function reviewVersion(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  review: { versionId: string; band: Scan['band']; note: string; reviewedBy: string; at: Date },
): Promise<boolean> {
  const named = await findSafety(tx, orgId, review.versionId)
  if (!named) return false
  await lockSkills(tx, orgId, [named.skill_name])
  const before = await findSafety(tx, orgId, review.versionId)
  if (!before) return false
  await insertReview(tx, orgId, review)
  const shown = { band: review.band, reason_codes: before.reason_codes }
  await settle(tx, queue, orgId, { before, shown, at: review.at })
  return true
}

/**
 * Sends a changed band to the organizations that installed the skill: to 500 in this transaction, and to
 * the rest by a job.
 * @param after the organization that was told last; null at the beginning
 */
export async function tellInstallers(
  tx: Transaction,
  queue: Queue,
  ownerId: string,
  change: SafetyChange,
  after: string | null,
) {
  const { skill_id, is_held, changed_at, ...rest } = change
  const page = { ownerId, event: EVENT, after, limit: TOLD_AT_ONCE }
  const told = await listToldInstallers(tx, skill_id, page)
  const withheld = is_held || change.band === 'blocked'
  const data = { skill_id, ...rest, withheld, changed_at: changed_at.toISOString() }
  for (const orgId of told) await emitEvent(tx, queue, orgId, EVENT, data, changed_at)
  const last = told.at(-1)
  if (told.length < TOLD_AT_ONCE || last === undefined) return
  await queue.enqueue(tx, announceSafety, { ...change, after: last }, { orgId: ownerId })
}

async function settle(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  { before, shown, at }: { before: SafetyRow; shown: Shown; at: Date },
) {
  const { is_newest, is_public, is_held, ...said } = before
  await updatePublicBand(tx, orgId, said.version_id, shown)
  const previous_band = changedBand(said, shown.band)
  if (previous_band === undefined) return
  const change = {
    skill_id: said.skill_id,
    skill_name: said.skill_name,
    version_id: said.version_id,
    version: said.version,
    previous_band,
    ...shown,
    scanner_version: SCANNER_VERSION,
  }
  if (is_newest || is_public) {
    // Nothing is withheld from its owner.
    const data = { ...change, withheld: false, changed_at: at.toISOString() }
    await emitEvent(tx, queue, orgId, EVENT, data, at)
  }
  if (is_public) {
    await tellInstallers(tx, queue, orgId, { ...change, is_held, changed_at: at }, null)
  }
}

const EVENT = 'skill.safety_status_changed' as const
const TOLD_AT_ONCE = 500

type Shown = Pick<Scan, 'band'> & { readonly reason_codes: string[] }
