import { importTraces } from '../../jobs/import-traces.ts'
import { handler } from '../runtime/handler.ts'
import { limitsOf, openSlice } from './import-slice.ts'
import type { ImportOptions } from './import-slice.ts'
import { readFile } from './read-file.ts'
import { runImport } from './run-import.ts'

export const importTracesHandler = importHandler()

export function importHandler(options: ImportOptions = {}) {
  return handler(importTraces, ({ import_id }, run) => {
    const slice = openSlice(limitsOf(options), options.sliceSeconds)
    return runImport(run, import_id, slice, (item, from) => readFile(run, item, from, slice))
  })
}
