import { Worker } from 'node:worker_threads'
import { BEAT, MARKS, PLAN, SCHEMA, TASK } from './thread-protocol.ts'
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
  /** The task that was begun last; 0 for none. */
  readonly taskId: number
  /** False when the thread ended before it could work, which no task is the cause of. */
  readonly hasLoaded: boolean
}

/** A thread that is ended when a step of its work takes too much processor time or memory. */
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
    const taskId = Atomics.exchange(marks, TASK, 0)
    const hasLoaded = Atomics.load(marks, BEAT) !== beatAtStart
    rest()
    thread = undefined
    onEnd({ planId, schemaId, taskId, hasLoaded })
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
      watch ??= endWhenStalled(thread, marks, beatAtStart)
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

/** Counts the thread's own processor time, so that a busy machine is not held against it. */
function endWhenStalled(watched: Worker, marks: Int32Array, beatAtStart: number) {
  let beat = -1
  let usedBefore = 0
  async function look() {
    const now = Atomics.load(marks, BEAT)
    // A thread that is not there yet, or no longer, refuses to tell.
    const usage = await watched.cpuUsage().catch(() => undefined)
    if (!usage || now === beatAtStart) return
    const used = (usage.user + usage.system) / 1000
    if (now !== beat) usedBefore = used
    beat = now
    const allowed = Atomics.load(marks, SCHEMA) > 0 ? SCHEMA_MS : DECODE_MS
    // The next step may have begun before the answer came.
    const isStalled = used - usedBefore >= allowed && Atomics.load(marks, BEAT) === now
    if (isStalled) void watched.terminate()
  }

  return setInterval(() => void look(), LOOK_MS)
}

/** A schema that has worked for so long is taken to run for ever. */
const SCHEMA_MS = 4000
/** The same of a trace outside of schemas: a large one is given up only when it is hopeless. */
const DECODE_MS = 15_000
const LOOK_MS = 250
/** V8's default makes the process larger by 35 MiB, and no faster. */
const NURSERY_MIB = 48
