import { Worker } from 'node:worker_threads'
import type { AgentEdge } from '../../jobs/rules/agent-edges.ts'
import type { CompatDecision } from '../../jobs/rules/compat-decision.ts'
import type { UsingTrace } from '../../jobs/rules/trace-use.ts'
import type { Violation } from '../../jobs/rules/violations.ts'
import type { StoredManifest } from '../../sql/manifests.ts'

/** A trace with its content still closed. */
export type ClosedTrace = Omit<UsingTrace, 'spans' | 'llm_calls'> & { content: Uint8Array }

/** What was found in a trace. */
export interface Examination {
  /** How it fits the target manifest; null without one. */
  compatibility: CompatDecision | null
  violations: Violation[]
  edges: AgentEdge[]
}

export interface ExaminationRequest {
  /** What the traces were recorded under; null for none. */
  readonly manifest: StoredManifest | null
  /** What they are compared with; null for nothing. */
  readonly target: StoredManifest | null
  /** `compatibility` leaves the rest out. */
  readonly wants: 'all' | 'compatibility'
  readonly traces: readonly ClosedTrace[]
}

/**
 * Opens traces and holds them against manifests in a thread of its own, one for the whole process. A
 * schema that takes seconds, or all memory, ends the thread; the work is done again in a
 * new one in which that schema cannot tell.
 */
export function examine(request: ExaminationRequest): Promise<Examination[]> {
  return (shared ??= openExaminer()).examine(request)
}

function openExaminer() {
  const marks = new Int32Array(new SharedArrayBuffer(MARKS * Int32Array.BYTES_PER_ELEMENT))
  const plans = new Map<string, PlanTask>()
  const waiting = new Map<number, Waiting>()
  let thread: Worker | undefined
  let planned = new Set<number>()
  let lastId = 0
  let beatAtStart = 0
  let watch: NodeJS.Timeout | undefined

  function start() {
    thread = new Worker(new URL('./examine-thread.ts', import.meta.url), {
      workerData: marks,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    planned = new Set()
    beatAtStart = Atomics.load(marks, BEAT)
    thread.on('message', receive)
    // Without a listener the end of a thread by its memory limit would end the process.
    thread.on('error', () => undefined)
    const started = thread
    thread.once('exit', () => {
      if (thread === started) recover()
    })
  }

  function receive(reply: ThreadReply) {
    const task = waiting.get(reply.taskId)
    waiting.delete(reply.taskId)
    if (waiting.size === 0) rest()
    if ('error' in reply) task?.reject(reply.error)
    else task?.resolve(reply.examinations)
  }

  /** Nothing to do: the thread keeps nobody alive. */
  function rest() {
    clearInterval(watch)
    watch = undefined
    thread?.unref()
  }

  function send(task: Waiting) {
    if (!thread) start()
    const plan = task.plan
    if (!planned.has(plan.planId)) thread?.postMessage(plan)
    planned.add(plan.planId)
    thread?.ref()
    watch ??= setInterval(endWhenStalled(), LOOK_MS)
    const message = packTask(task)
    thread?.postMessage(message, [message.contents.buffer])
  }

  /** Looks are counted, not time, so that a hold-up of this thread is not held against the other. */
  function endWhenStalled() {
    let beat = -1
    let looks = 0
    return () => {
      const now = Atomics.load(marks, BEAT)
      looks = now === beat ? looks + 1 : 0
      beat = now
      const isLoading = now === beatAtStart
      if (looks >= STALL_LOOKS && !isLoading) void thread?.terminate()
    }
  }

  /** The thread has ended: what it was at work on is held against, and the rest done again. */
  function recover() {
    const [planId, schemaId] = [Atomics.load(marks, PLAN), Atomics.load(marks, SCHEMA)]
    Atomics.store(marks, SCHEMA, 0)
    thread = undefined
    rest()
    const guilty = [...waiting.values()].find(({ plan }) => plan.planId === planId)?.plan
    if (schemaId > 0 && guilty) guilty.slow.push(schemaId)
    for (const task of waiting.values()) {
      if (schemaId === 0) task.losses++
      if (task.losses <= MAX_LOSSES) send(task)
      else {
        waiting.delete(task.taskId)
        task.reject(new Error('The thread that examines traces has ended without a cause'))
      }
    }
  }

  /** The plan of a pair of manifests; few are kept, because each holds compiled schemas. */
  function planFor({ manifest, target }: ExaminationRequest): PlanTask {
    const key = `${manifest?.id} ${target?.id}`
    const plan = plans.get(key) ?? { kind: 'plan', planId: ++lastId, manifest, target, slow: [] }
    plans.delete(key)
    plans.set(key, plan)
    const [oldest] = plans
    if (oldest && plans.size > MAX_PLANS) {
      plans.delete(oldest[0])
      if (planned.delete(oldest[1].planId)) {
        thread?.postMessage({ kind: 'forget', planId: oldest[1].planId } satisfies ThreadTask)
      }
    }
    return plan
  }

  return {
    examine: (request: ExaminationRequest) =>
      new Promise<Examination[]>((resolve, reject) => {
        const plan = planFor(request)
        const task = { taskId: ++lastId, plan, request, resolve, reject, losses: 0 }
        waiting.set(task.taskId, task)
        send(task)
      }),
  }
}

/** The contents go as one block that is handed over, and nothing goes that the thread does not need. */
function packTask({ taskId, plan, request }: Waiting): ExamineTask {
  const { wants, traces } = request
  const contents = new Uint8Array(traces.reduce((sum, { content }) => sum + content.length, 0))
  let at = 0
  const packed = traces.map(({ content, ...trace }) => {
    contents.set(content, at)
    at += content.length
    return {
      agent_name: trace.agent_name,
      status: trace.status,
      active_skills: trace.active_skills,
      skills_loaded_by_agent: trace.skills_loaded_by_agent,
      user_input_preview: trace.user_input_preview,
      final_output_preview: trace.final_output_preview,
      metadata: trace.metadata,
      tags: trace.tags,
      length: content.length,
    }
  })
  return { kind: 'examine', taskId, planId: plan.planId, wants, traces: packed, contents }
}

let shared: ReturnType<typeof openExaminer> | undefined

/** Places in the memory both sides see: a counter of steps, and which schema of which plan is at work. */
export const BEAT = 0
export const PLAN = 1
/** 0 while none is. */
export const SCHEMA = 2
const MARKS = 3

/** A step that was not over after so many looks is taken to take for ever: 4 seconds. */
const STALL_LOOKS = 16
const LOOK_MS = 250
const HEAP_MB = 512
const MAX_PLANS = 16
/** Ends of the thread that a task outlives when no schema was at work. */
const MAX_LOSSES = 2

export interface PlanTask {
  kind: 'plan'
  planId: number
  manifest: StoredManifest | null
  target: StoredManifest | null
  /** Schemas, by the order they are compiled in, that have taken too long. */
  slow: number[]
}

export interface ExamineTask {
  kind: 'examine'
  taskId: number
  planId: number
  wants: ExaminationRequest['wants']
  /** With the length of each one's content. */
  traces: (Omit<ClosedTrace, 'content'> & { length: number })[]
  /** All contents, one after the other. */
  contents: Uint8Array<ArrayBuffer>
}

export type ThreadTask = PlanTask | ExamineTask | { kind: 'forget'; planId: number }

export type ThreadReply =
  { taskId: number; examinations: Examination[] } | { taskId: number; error: unknown }

interface Waiting {
  taskId: number
  plan: PlanTask
  request: ExaminationRequest
  resolve: (examinations: Examination[]) => void
  reject: (error: unknown) => void
  losses: number
}
