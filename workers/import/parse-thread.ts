// A worker thread that parses chunks, puts traces together and makes rows of them, so that none of it
// holds up the main thread, which reads, writes and keeps the claim alive. `parsers.ts` starts it and sends it tasks.
import { parentPort } from 'node:worker_threads'
import { assemblePage } from './assemble-page.ts'
import { parseLines } from './backup/parse-lines.ts'
import { movedWith } from './chunk-memory.ts'
import { encodeChunk, openChunkEncoder } from './encode-chunk.ts'
import type { ImportSettings, ChunkEncoder } from './encode-chunk.ts'
import { parseChunk } from './parse-chunk.ts'
import type { Candidate, ParsedChunk } from './parse-chunk.ts'
import type { ParsedReply, ParseTask, ThreadReply, ThreadTask } from './parsers.ts'

/** Parsed chunks, by id, that wait to hear which of their traces are known, or that they are wanted. */
const parsed = new Map<number, Parsed>()

parentPort?.on('message', (task: ThreadTask) => {
  const [reply, moved] = work(task)
  parentPort?.postMessage(reply, moved)
})

function work({ taskId, ...task }: ThreadTask): [ThreadReply, ArrayBuffer[]] {
  try {
    switch (task.kind) {
      case 'parse':
        return [{ taskId, result: parse(task) }, []]
      case 'encode': {
        const { chunk, settings, encoder } = take(task.chunkId)
        const result = encodeChunk(chunk, task.known, settings, task.chunkNo, encoder)
        return [{ taskId, result }, movedWith(result.rows.bytes, result.staged?.rows.bytes)]
      }
      case 'assemble': {
        const result = assemblePage(task.traces, task.settings)
        return [{ taskId, result }, movedWith(result.rows.bytes)]
      }
      case 'restore': {
        const result = parseLines(task.chunk, task.settings)
        return [{ taskId, result }, movedWith(result.traces.bytes)]
      }
      case 'drop':
        take(task.chunkId)
        return [{ taskId, result: undefined }, []]
    }
  } catch (error) {
    return [{ taskId, error }, []]
  }
}

/**
 * Where traces are expected to be new, each is encoded as soon as it is parsed. What was parsed of it is garbage then,
 * and need not be moved about until the database has said what it knows: that takes a fifth less time.
 */
function parse({ chunkId, chunk: given, settings, areNew, memory }: ParseTask): ParsedReply {
  const encoder = openChunkEncoder(settings, memory)
  const chunk = parseChunk(given, settings.format, areNew ? encoder.addNew : undefined)
  parsed.set(chunkId, { chunk, settings, encoder })
  const { candidates, ...rest } = chunk
  const traceIds = [...new Set(candidates.flatMap(traceIdsOf))]
  return { ...rest, traceIds }
}

function traceIdsOf(candidate: Candidate) {
  return 'parts' in candidate
    ? candidate.parts.map(({ part }) => part.trace_id ?? part.span_id)
    : candidate.traces.map(({ key }) => key)
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
  readonly encoder: ChunkEncoder
}
