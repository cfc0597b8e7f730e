import type { Scan } from '../../jobs/rules/skills/scan/finding.ts'
import { startScan } from '../../jobs/rules/skills/scan/scan-skill.ts'
import { scanSkill } from '../../jobs/scan-skill.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findScanned } from '../../sql/skills/safety.ts'
import type { ScannedRow } from '../../sql/skills/safety.ts'
import { readBlob } from '../../sql/skills/skill-blobs.ts'
import { listFiles } from '../../sql/skills/skill-files.ts'
import { storeScan } from '../../sql/transactions/settle-safety.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'

/**
 * Scans a version of a skill, and again when it was changed meanwhile. Each file is read, looked at and
 * dropped before the next one.
 */
export const scanSkillHandler = handler(scanSkill, async ({ version_id: id }, run) => {
  const { sql, orgId, queue, now } = run
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const scanned = await findScanned(sql, orgId, id)
    // Deleted, and so looked at by nobody.
    if (!scanned) return {}
    const scan = await scanVersion(run, id, scanned)
    const isStored = await queue.transaction(sql, (tx: Transaction) =>
      storeScan(tx, queue, { orgId, id, scanned }, { scan, at: now() }),
    )
    if (isStored) return { band: scan.band, findings: scan.finding_count }
  }
  throw new Error(`Version ${id} was changed during each of ${MAX_TRIES} scans`)
})

async function scanVersion(
  { sql, orgId, signal }: Run,
  id: string,
  scanned: ScannedRow,
): Promise<Scan> {
  const running = startScan(scanned)
  for (const file of await listFiles(sql, orgId, [id])) {
    signal.throwIfAborted()
    const content = await readBlob(sql, orgId, file.sha256)
    // Without its content the version is not any more what it was, which storing finds out.
    if (content) running.addFile(file, content)
  }
  return running.finish()
}

const MAX_TRIES = 5
