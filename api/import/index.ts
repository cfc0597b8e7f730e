import type { Area } from '../endpoint.ts'
import { cancelImport } from './cancel-import.ts'
import { exportBackup } from './export-backup.ts'
import { importJsonl } from './import-jsonl.ts'
import { importTraces } from './import-traces.ts'
import { receiveSpans } from './receive-spans.ts'
import { listImportErrors } from './list-import-errors.ts'
import { listImports } from './list-imports.ts'
import { pullTraces } from './pull-traces.ts'
import { showImport } from './show-import.ts'

export const imports: Area = [
  importJsonl,
  importTraces,
  pullTraces,
  listImports,
  showImport,
  listImportErrors,
  cancelImport,
  receiveSpans,
  exportBackup,
]
