import type { Examination, ExaminationRequest } from './examination.ts'
import type { ExamineTask, PlanTask, ThreadReply, ThreadTask } from './thread-protocol.ts'
import { openWatchedThread } from './watched-thread.ts'
import type { ThreadEnd } from './watched-thread.ts'

/**
 * Decodes traces and compares them with manifests, in one thread for the whole process. A schema that
 * takes seconds, or all memory, ends the thread; the work is done again in a new one, in which that
 * schema is unverifiable.
 */
export function examine(request: ExaminationRequest): Promise<Examination[]> {
  return (shared ??= openExaminer()).examine(request)
}

function openExaminer() {
  const thread = openWatchedThread(receive, recover)
  const plans = openPlans((task) => thread.post(task))
  const waiting = new Map<number, Waiting>()
  let lastId = 0

  function receive(reply: ThreadReply) {
    const task = waiting.get(reply.taskId)
    waiting.delete(reply.taskId)
    if (waiting.size === 0) thread.rest()
    if ('error' in reply) task?.reject(reply.error)
    else task?.resolve(reply.examinations)
  }

  function send(task: Waiting) {
    plans.send(task.plan)
    const message = packTask(task)
    thread.post(message, [message.contents.buffer])
  }

  /** Called when the thread has ended. Marks the schema at work as slow and sends all tasks again. */
  function recover({ planId, schemaId }: ThreadEnd) {
    plans.forgetSent()
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

  return {
    examine: (request: ExaminationRequest) =>
      new Promise<Examination[]>((resolve, reject) => {
        const plan = plans.find(request)
        const task = { taskId: ++lastId, plan, request, resolve, reject, losses: 0 }
        waiting.set(task.taskId, task)
        send(task)
      }),
  }
}

/** The plans of pairs of manifests. Few are kept, because the thread compiles schemas for each. */
function openPlans(post: (task: ThreadTask) => void) {
  const plans = new Map<string, PlanTask>()
  let sent = new Set<number>()
  let lastId = 0

  return {
    find({ manifest, target }: ExaminationRequest): PlanTask {
      const key = `${manifest?.id} ${target?.id}`
      const plan = plans.get(key) ?? { kind: 'plan', planId: ++lastId, manifest, target, slow: [] }
      plans.delete(key)
      plans.set(key, plan)
      const [oldest] = plans
      if (oldest && plans.size > MAX_PLANS) {
        plans.delete(oldest[0])
        const { planId } = oldest[1]
        if (sent.delete(planId)) post({ kind: 'forget', planId })
      }
      return plan
    },
    /** Sends a plan to the thread unless the thread has it. */
    send(plan: PlanTask) {
      if (!sent.has(plan.planId)) post(plan)
      sent.add(plan.planId)
    },
    /** Call it when the thread has ended: a new one has no plans. */
    forgetSent() {
      sent = new Set()
    },
  }
}

/** Puts the contents into one block, whose memory is transferred, and leaves out columns not needed. */
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

const MAX_PLANS = 16
/** How often a task is sent again after the thread ended while no schema was at work. */
const MAX_LOSSES = 2

interface Waiting {
  taskId: number
  plan: PlanTask
  request: ExaminationRequest
  resolve: (examinations: Examination[]) => void
  reject: (error: unknown) => void
  losses: number
}
