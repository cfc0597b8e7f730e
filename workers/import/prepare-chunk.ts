import { listKnownTraceIds } from '../../sql/traces/trace-copy.ts'
import type { Run } from '../runtime/handler.ts'
import type { LineFault } from './containers/upload-fault.ts'
import type { EncodedChunk, ImportSettings } from './encode-chunk.ts'
import { parseInThread } from './parsers.ts'
import type { ChunkBytes, ThreadChunk } from './parsers.ts'

export interface PreparedRecords extends Pick<ThreadChunk, 'format' | 'readable' | 'release'> {
  readonly encoded: EncodedChunk
  readonly faults: readonly LineFault[]
}

/**
 * Parses records and makes rows of the traces that the project does not have yet. The memory
 * of the bytes may not be used afterwards.
 * @param areNew whether whole traces are expected to be new: it is then not asked which of them the project has,
 * and `storeStep` leaves those out
 */
export async function prepareChunk(
  run: Run,
  settings: ImportSettings,
  chunk: ChunkBytes,
  { chunkNo, areNew = false }: { chunkNo: number; areNew?: boolean },
): Promise<PreparedRecords> {
  const parsed = await parseInThread(chunk, settings, areNew)
  const known = await findKnown(run, settings, parsed.traceIds).catch((error: unknown) => {
    parsed.drop()
    throw error
  })
  const encoded = await parsed.encode(known, chunkNo)
  const { format, readable, release, faults } = parsed
  return { encoded, format, readable, release, faults: [...faults, ...encoded.faults] }
}

async function findKnown({ sql, signal }: Run, settings: ImportSettings, ids: readonly string[]) {
  signal.throwIfAborted()
  if (ids.length === 0) return new Set<string>()
  const { orgId, projectId } = settings
  return listKnownTraceIds(sql, orgId, projectId, ids)
}
