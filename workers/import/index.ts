import { restoreBackupHandler } from './backup/restore-backup.ts'
import { importTracesHandler } from './import-traces.ts'
import { pullTracesHandler } from './pull-traces.ts'

/** What does the jobs of the pool. */
export const handlers = [importTracesHandler, pullTracesHandler, restoreBackupHandler]
