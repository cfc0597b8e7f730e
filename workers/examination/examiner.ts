import type { Run } from '../runtime/handler.ts'
import type { ClosedTrace, Examination, ExaminationRequest } from './examination.ts'
import { givenUp } from './given-up.ts'
import { openPlans } from './plans.ts'
import type { ExamineTask, PlanTask, ThreadReply } from './thread-protocol.ts'
import { openWatchedThread } from './watched-thread.ts'
import type { ThreadEnd } from './watched-thread.ts'

/**
 * Decodes traces and compares them with manifests, in one thread for the whole process. A schema that
 * takes seconds, or all memory, ends the thread; the work is done again in a new one, in which that
 * schema is unverifiable. When no schema was at work, the traces that were in the thread are examined
 * one by one with nothing beside them, and one that ends the thread then is given up.
 * @param examiner default the one that all share
 */
export async function examine(
  { log, meter, orgId }: Pick<Run, 'log' | 'meter' | 'orgId'>,
  request: ExaminationRequest,
  examiner = (shared ??= openExaminer(HEAP_MIB)),
): Promise<Examination[]> {
  const traces = request.traces.filter(({ given_up }) => !given_up)
  const examinations = await examiner.examine({ ...request, traces })
  const found = new Map(traces.map((trace, i) => [trace, examinations[i]]))
  for (const [{ trace_id }, examination] of found) {
    if (!examination?.given_up) continue
    meter.traceGivenUp()
    log.error({ org_id: orgId, trace_id }, 'a trace ends the thread that examines it: given up')
  }
  return request.traces.map((trace) => found.get(trace) ?? giveUp(request))
}

/** @param heapMib memory that the thread may take for values */
export function openExaminer(heapMib: number) {
  const thread = openWatchedThread(heapMib, receive, recover)
  const plans = openPlans((task) => thread.post(task))
  /** What is in the thread. */
  const sent = new Map<number, Task>()
  /** What waits while traces are examined alone. */
  const line: Task[] = []
  let isAlone = false
  let lastId = 0

  function send(task: Task) {
    sent.set(task.taskId, task)
    plans.send(task.plan)
    const message = packTask(task)
    thread.post(message, [message.contents.buffer])
  }

  function receive(reply: ThreadReply) {
    const task = sent.get(reply.taskId)
    sent.delete(reply.taskId)
    if (sent.size === 0) thread.rest()
    if ('error' in reply) task?.reject(reply.error)
    else task?.resolve(reply.examinations)
  }

  /** Called when the thread has ended. */
  function recover({ planId, schemaId, hasLoaded }: ThreadEnd) {
    plans.forgetSent()
    const tasks = [...sent.values()]
    const guilty = tasks.find(({ plan }) => plan.planId === planId)?.plan
    if (schemaId > 0 && guilty) {
      guilty.slow.push(schemaId)
      for (const task of tasks) send(task)
      return
    }
    sent.clear()
    if (!hasLoaded) {
      const error = new Error('The thread that examines traces did not start')
      for (const { reject } of tasks) reject(error)
    } else if (isAlone) {
      for (const { request, resolve } of tasks) resolve([giveUp(request)])
    } else void examineAlone(tasks)
  }

  /** Examines the traces of tasks one by one, with nothing else in the thread. */
  async function examineAlone(tasks: readonly Task[]) {
    isAlone = true
    for (const task of tasks) await examineOneByOne(task).then(task.resolve, task.reject)
    isAlone = false
    for (const task of line.splice(0)) send(task)
  }

  async function examineOneByOne({ plan, request }: Task) {
    const found: Examination[] = []
    for (const trace of request.traces) {
      const one = { ...request, traces: [trace] }
      found.push(
        ...(await new Promise<Examination[]>((resolve, reject) => {
          send({ taskId: ++lastId, plan, request: one, resolve, reject })
        })),
      )
    }
    return found
  }

  return {
    examine: (request: ExaminationRequest) =>
      new Promise<Examination[]>((resolve, reject) => {
        const task = { taskId: ++lastId, plan: plans.find(request), request, resolve, reject }
        if (isAlone) line.push(task)
        else send(task)
      }),
  }
}

function giveUp({ manifest, target, wants }: ExaminationRequest) {
  return givenUp(manifest !== null && target !== null, wants)
}

/** Puts the contents into one block, whose memory is transferred, and leaves out columns not needed. */
function packTask({ taskId, plan, request }: Task): ExamineTask {
  const { wants, traces } = request
  const contents = new Uint8Array(traces.reduce((sum, { content }) => sum + content.length, 0))
  let at = 0
  const packed = traces.map(({ content, ...trace }: ClosedTrace) => {
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

const HEAP_MIB = 512

interface Task {
  readonly taskId: number
  readonly plan: PlanTask
  readonly request: ExaminationRequest
  resolve(examinations: Examination[]): void
  reject(error: unknown): void
}
