import { Worker } from 'node:worker_threads'
import { BEAT, MARKS, PLAN, SCHEMA } from './thread-protocol.ts'
import type { ThreadReply, ThreadTask } from './thread-protocol.ts'

export interface WatchedThread {
  /** Sends a task, and starts the thread when there is none. Until `rest`, the process stays up and the work is watched. */
  post(task: ThreadTask, transfer?: readonly ArrayBuffer[]): void
  /** Call it when no task is left: the thread no longer keeps the process up. */
  rest(): void
}

export interface ThreadEnd {
  readonly planId: number
  /** The schema that was at work; 0 when none was. */
  readonly schemaId: number
  /** False when the thread ended before it could work, which no task is the cause of. */
  readonly hasLoaded: boolean
}

/** A thread that is ended when a step of its work takes too much time or memory. */
export function openWatchedThread(
  heapMib: number,
  onReply: (reply: ThreadReply) => void,
  onEnd: (end: ThreadEnd) => void,
): WatchedThread {
  const marks = new Int32Array(new SharedArrayBuffer(MARKS * Int32Array.BYTES_PER_ELEMENT))
  let thread: Worker | undefined
  let watch: NodeJS.Timeout | undefined
  let beatAtStart = 0

  function end() {
    const planId = Atomics.load(marks, PLAN)
    const schemaId = Atomics.exchange(marks, SCHEMA, 0)
    const hasLoaded = Atomics.load(marks, BEAT) !== beatAtStart
    rest()
    thread = undefined
    onEnd({ planId, schemaId, hasLoaded })
  }

  function rest() {
    clearInterval(watch)
    watch = undefined
    thread?.unref()
  }

  return {
    post(task, transfer = []) {
      if (!thread) {
        beatAtStart = Atomics.load(marks, BEAT)
        thread = startThread(heapMib, marks, onReply, end)
      }
      thread.ref()
      watch ??= setInterval(endWhenStalled(thread, marks, beatAtStart), LOOK_MS)
      thread.postMessage(task, transfer)
    },
    rest,
  }
}

function startThread(
  heapMib: number,
  marks: Int32Array,
  onReply: (reply: ThreadReply) => void,
  onExit: () => void,
) {
  const thread = new Worker(new URL('./examine-thread.ts', import.meta.url), {
    workerData: marks,
    resourceLimits: { maxOldGenerationSizeMb: heapMib, maxYoungGenerationSizeMb: NURSERY_MIB },
  })
  thread.on('message', onReply)
  // Without a listener the end of a thread by its memory limit would end the process.
  thread.on('error', () => undefined)
  thread.once('exit', onExit)
  return thread
}

/** Counts looks and not time, so that a delay of the main thread is not held against the watched one. */
function endWhenStalled(watched: Worker, marks: Int32Array, beatAtStart: number) {
  let beat = -1
  let looks = 0
  return () => {
    const now = Atomics.load(marks, BEAT)
    looks = now === beat ? looks + 1 : 0
    beat = now
    const isLoading = now === beatAtStart
    const allowed = Atomics.load(marks, SCHEMA) > 0 ? SCHEMA_LOOKS : DECODE_LOOKS
    if (looks === allowed && !isLoading) void watched.terminate()
  }
}

/** A schema that is at work for this many looks, 4 seconds, is taken to run for ever. */
const SCHEMA_LOOKS = 16
/** The same of a trace outside of schemas, 15 seconds: a large one is given up only when it is hopeless. */
const DECODE_LOOKS = 60
const LOOK_MS = 250
/** V8's default makes the process larger by 35 MiB, and no faster. */
const NURSERY_MIB = 48
