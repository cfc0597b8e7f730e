import { Worker } from 'node:worker_threads'
import { ThreadEnded } from '../runtime/give-up.ts'
import { giveBackMemory, movedWith, takeMemory } from './chunk-memory.ts'
import type { EncodedPage, PageSettings, PageTrace } from './assemble-page.ts'
import type { BackupChunk } from './backup/backup-chunks.ts'
import type { LineSettings, ParsedLines } from './backup/parse-lines.ts'
import type { EncodedChunk, ImportSettings } from './encode-chunk.ts'
import type { Chunk } from './containers/read-chunks.ts'
import type { ParsedChunk } from './parse-chunk.ts'

/** A parsed chunk, which its thread holds. Call exactly one of `encode` and `drop`. */
export interface ThreadChunk extends ParsedReply {
  /** Makes rows of all traces and parts except the known ones. */
  encode(known: ReadonlySet<string>, chunkNo: number): Promise<EncodedChunk>
  drop(): void
  /** Call it when the rows are stored: their memory is used for others. */
  release(): void
}

export interface ParsedReply extends Omit<ParsedChunk, 'candidates'> {
  /** Of traces that are not encoded yet. */
  readonly traceIds: readonly string[]
}

export interface ParseTask {
  readonly kind: 'parse'
  readonly chunkId: number
  readonly chunk: ChunkBytes
  readonly settings: ImportSettings
  readonly areNew: boolean
  /** For the rows. */
  readonly memory: SharedArrayBuffer | undefined
}

export type ThreadTask = { readonly taskId: number } & (
  | ParseTask
  | {
      readonly kind: 'encode'
      readonly chunkId: number
      readonly known: ReadonlySet<string>
      readonly chunkNo: number
    }
  | { readonly kind: 'drop'; readonly chunkId: number }
  | {
      readonly kind: 'assemble'
      readonly traces: readonly PageTrace[]
      readonly settings: PageSettings
    }
  | {
      readonly kind: 'restore'
      readonly chunk: LineBytes
      readonly settings: LineSettings
    }
)
export type ThreadReply = { readonly taskId: number } & (
  { readonly result: unknown } | { readonly error: unknown }
)

/**
 * Parses a chunk in the thread that has the fewest. The memory of its bytes may not be used afterwards.
 * @param areNew whether whole traces are expected to be new, and encoded without being asked for
 */
export async function parseInThread(
  chunk: ChunkBytes,
  settings: ImportSettings,
  areNew: boolean,
): Promise<ThreadChunk> {
  const thread = pickThread()
  const chunkId = ++lastId
  const memory = settings.dryRun ? undefined : takeMemory()
  thread.chunks++
  try {
    const { bytes, ends, lines } = chunk
    const task: ParseTask = {
      kind: 'parse',
      chunkId,
      chunk: { bytes, ends, lines },
      settings,
      areNew,
      memory,
    }
    const parsed = await thread.run<ParsedReply>(task, movedWith(bytes))
    giveBackMemory(bytes.buffer)
    return {
      ...parsed,
      async encode(known, chunkNo) {
        try {
          return await thread.run<EncodedChunk>({ kind: 'encode', chunkId, known, chunkNo })
        } finally {
          thread.chunks--
        }
      },
      drop() {
        thread.chunks--
        thread.run({ kind: 'drop', chunkId }).catch(() => undefined)
      },
      release: () => giveBackMemory(memory),
    }
  } catch (error) {
    thread.chunks--
    throw error
  }
}

/** Puts traces together in the thread that has the fewest. The bytes of their parts are moved to it. */
export async function assembleInThread(
  traces: readonly PageTrace[],
  bytes: ArrayBuffer,
  settings: PageSettings,
): Promise<EncodedPage> {
  return runInThread<EncodedPage>({ kind: 'assemble', traces, settings }, [bytes])
}

/**
 * Parses lines of a backup in the thread that has the fewest. The memory of their bytes may not be used afterwards.
 */
export async function parseLinesInThread(
  { bytes, ends, lines, starts, faults }: LineBytes,
  settings: LineSettings,
): Promise<ParsedLines> {
  const chunk = { bytes, ends, lines, starts, faults }
  const task = { kind: 'restore', chunk, settings } as const
  const parsed = await runInThread<ParsedLines>(task, movedWith(bytes))
  giveBackMemory(bytes.buffer)
  return parsed
}

async function runInThread<T>(task: DistributedOmit<ThreadTask>, moved: ArrayBuffer[]): Promise<T> {
  const thread = pickThread()
  thread.chunks++
  try {
    return await thread.run<T>(task, moved)
  } finally {
    thread.chunks--
  }
}

/** The threads that all imports of this process share; each is started when it is first needed. */
const threads: Thread[] = []
let lastId = 0

function pickThread(): Thread {
  if (threads.length < THREADS) threads.push(startThread())
  return threads.reduce((least, each) => (each.chunks < least.chunks ? each : least))
}

function startThread(): Thread {
  const worker = new Worker(new URL('./parse-thread.ts', import.meta.url), {
    resourceLimits: LIMITS,
  })
  const waiting = new Map<number, Waiting>()
  let end: Error | undefined

  function fail(error: Error) {
    end ??= error
    const at = threads.indexOf(thread)
    if (at >= 0) threads.splice(at, 1)
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('error', (error: NodeJS.ErrnoException) => {
    fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new ThreadEnded(error.message) : error)
  })
  worker.on('exit', () => fail(new ThreadEnded('An import thread has ended')))
  worker.on('message', (reply: ThreadReply) => {
    const task = waiting.get(reply.taskId)
    waiting.delete(reply.taskId)
    if ('error' in reply) task?.reject(reply.error)
    else task?.resolve(reply.result)
  })
  // The process may end while its threads wait for work. This comes last, because listening undoes it.
  worker.unref()

  const thread: Thread = {
    chunks: 0,
    run: <T>(task: Omit<ThreadTask, 'taskId'>, moved: ArrayBuffer[] = []) =>
      new Promise<T>((resolve, reject) => {
        if (end) throw end
        const taskId = ++lastId
        waiting.set(taskId, { resolve, reject })
        worker.postMessage({ ...task, taskId }, moved)
      }),
  }
  return thread
}

const THREADS = 2
/**
 * A thread that needs more memory ends, and the process does not; the jobs whose chunks it had are run
 * again, each alone.
 * V8's default young generation would make the process larger by half, and no faster.
 */
const LIMITS = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16 }

interface Thread {
  /** How many chunks and pages it was given and has not finished. */
  chunks: number
  run<T>(task: DistributedOmit<ThreadTask>, moved?: ArrayBuffer[]): Promise<T>
}
type DistributedOmit<T> = T extends unknown ? Omit<T, 'taskId'> : never
type LineBytes = Pick<BackupChunk, 'bytes' | 'ends' | 'lines' | 'starts' | 'faults'>
export type ChunkBytes = Pick<Chunk, 'bytes' | 'ends' | 'lines'>
interface Waiting {
  /** Takes the result of this task's kind. */
  resolve(result: unknown): void
  reject(error: unknown): void
}
