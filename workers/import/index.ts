import { restoreBackupHandler } from './backup/restore-backup.ts'
import { importTracesHandler } from './import-traces.ts'
import { pullTracesHandler } from './pull-traces.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [importTracesHandler, pullTracesHandler, restoreBackupHandler]
