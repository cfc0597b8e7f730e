import { pullTraces } from '../../jobs/pull-traces.ts'
import { isPulled } from '../../sql/import/imports.ts'
import { handler } from '../runtime/handler.ts'
import { limitsOf, openSlice } from './import-slice.ts'
import type { ImportOptions } from './import-slice.ts'
import { readPlatform } from './pull/read-platform.ts'
import { runImport } from './run-import.ts'

export const pullTracesHandler = pullHandler()

export function pullHandler(options: ImportOptions = {}) {
  return handler(pullTraces, ({ import_id }, run) => {
    const slice = openSlice(limitsOf(options), options.sliceSeconds)
    return runImport(run, import_id, slice, (item, from) => {
      if (!isPulled(item)) throw new TypeError('An import of a file has no platform to read from')
      return readPlatform(run, item, from, slice)
    })
  })
}
