// A worker thread that parses chunks and makes rows of them, so that neither holds up the main thread,
// which reads, writes and keeps the claim alive. `parsers.ts` starts it and sends it tasks.
import { parentPort } from 'node:worker_threads'
import { encodeChunk, parseChunk } from './parse-chunk.ts'
import type { ImportSettings, ParsedChunk } from './parse-chunk.ts'
import type { ChunkBytes, ThreadReply, ThreadTask } from './parsers.ts'

/** Parsed chunks, by id, that wait to hear which of their traces are known. */
const parsed = new Map<number, Parsed>()

parentPort?.on('message', (task: ThreadTask) => {
  const [reply, moved] = work(task)
  parentPort?.postMessage(reply, moved)
})

function work({ taskId, ...task }: ThreadTask): [ThreadReply, ArrayBuffer[]] {
  try {
    switch (task.kind) {
      case 'parse':
        return [{ taskId, result: parse(task.chunkId, task.chunk, task.settings) }, []]
      case 'encode': {
        const { chunk, settings } = take(task.chunkId)
        const result = encodeChunk(chunk, task.known, settings)
        return [{ taskId, result }, [result.rows.bytes.buffer]]
      }
      case 'drop':
        take(task.chunkId)
        return [{ taskId, result: undefined }, []]
    }
  } catch (error) {
    return [{ taskId, error }, []]
  }
}

function parse(chunkId: number, bytes: ChunkBytes, settings: ImportSettings) {
  const chunk = parseChunk(bytes, settings)
  parsed.set(chunkId, { chunk, settings })
  const { faults, readable, candidates } = chunk
  const traceIds = candidates.flatMap(({ records }) => records.map(({ key }) => key))
  return { traceIds, format: candidates[0]?.format, faults, readable }
}

function take(chunkId: number): Parsed {
  const found = parsed.get(chunkId)
  if (!found) throw new TypeError('The chunk was not parsed, or was taken before')
  parsed.delete(chunkId)
  return found
}

interface Parsed {
  readonly chunk: ParsedChunk
  readonly settings: ImportSettings
}
