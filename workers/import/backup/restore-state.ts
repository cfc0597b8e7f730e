import type { Checkpoint } from '../../../jobs/job.ts'
import type { restoreBackup } from '../../../jobs/restore-backup.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import type { ImportKey } from '../../../sql/import/import-parts.ts'
import type { RestoreScope } from '../../../sql/import/restored-references.ts'
import type { Run } from '../../runtime/handler.ts'
import type { BackupChunk } from './backup-chunks.ts'
import type { ParsedLines } from './parse-lines.ts'

/** Where a restore goes on, or how it ended. */
export type RestoreCursor = Checkpoint<typeof restoreBackup>

/** A chunk that is ready to be stored. */
export interface ReadyChunk {
  readonly chunk: BackupChunk
  readonly parsed: ParsedLines
}

/** Whose the restore is, and what it may do. */
export interface RestoreAccess {
  readonly scope: RestoreScope
  /** Lines of all kinds are taken; else traces and scores. */
  readonly isAdmin: boolean
  readonly isCharged: boolean
}

/** The transaction in which a chunk is stored. */
export interface Restoring {
  readonly tx: Transaction
  readonly run: Run
  readonly scope: RestoreScope
  readonly key: ImportKey
  readonly chunkNo: number
}

/** Why a restore fails that has not read a whole backup. */
export function incomplete(why: string) {
  const message = `The backup is cut or damaged: ${why}. What was read is kept; import the whole file to add the rest`
  return { code: 'incomplete_backup', message }
}
