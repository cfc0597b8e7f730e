import { restoreBackup } from '../../../jobs/restore-backup.ts'
import { findRestoreScope } from '../../../sql/import/restored-references.ts'
import type { ImportRow } from '../../../sql/import/imports.ts'
import { GiveUp } from '../../runtime/give-up.ts'
import { CONTINUE, handler, Waiting } from '../../runtime/handler.ts'
import type { Run } from '../../runtime/handler.ts'
import { limitsOf, openSlice } from '../import-slice.ts'
import type { ImportOptions } from '../import-slice.ts'
import { runToEnd } from '../run-import.ts'
import { checkFile } from './check-file.ts'
import { followUp } from './follow-up.ts'
import { readBackup } from './read-backup.ts'
import type { RestoreAccess } from './restore-state.ts'

export const restoreBackupHandler = restoreHandler()

export function restoreHandler(options: ImportOptions = {}) {
  return handler(restoreBackup, async ({ import_id, by_operator = false }, run) => {
    let restored = run.checkpointed?.restored
    const outcome = await runToEnd(run, import_id, async (item) => {
      const access = by_operator ? operatorOf(item) : await accessOf(run, item)
      const slice = openSlice(limitsOf(options), options.sliceSeconds)
      const from = run.checkpointed
      const read = from?.phase ? from : await readBackup(run, item, access, from, slice)
      if (read === CONTINUE) return CONTINUE
      restored = read.restored
      if (read.end) return read.end
      const checked = read.phase === 'check' ? await checkFile(run, item, read) : read
      return followUp(run, item, checked, slice)
    })
    const hasEnded = typeof outcome === 'object' && !(outcome instanceof Waiting)
    return hasEnded ? { ...outcome, restored } : outcome
  })
}

function operatorOf({ org_id: orgId }: ImportRow): RestoreAccess {
  const scope = { orgId, workspaceId: null, projectId: null }
  return { scope, isAdmin: true, isCharged: false }
}

/** What a key may do never changes, so that it holds for the whole restore. */
async function accessOf({ sql }: Run, item: ImportRow): Promise<RestoreAccess> {
  const { org_id: orgId, created_by: keyId } = item
  const found = keyId === null ? undefined : await findRestoreScope(sql, orgId, keyId)
  if (!found) throw new GiveUp('key_gone', 'The key that asked for the restore was revoked')
  const { isAdmin, ...scope } = found
  return { scope, isAdmin, isCharged: true }
}
