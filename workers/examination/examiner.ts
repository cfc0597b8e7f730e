import type { Run } from '../runtime/handler.ts'
import type { ClosedTrace, Examination, ExaminationRequest, ThreadRequest } from './examination.ts'
import { openPlans } from './plans.ts'
import type { Repair, RepairRequest } from './repair.ts'
import type { PlanTask, ThreadReply, WorkTask } from './thread-protocol.ts'
import { examinationWork, repairWork } from './thread-work.ts'
import type { ThreadWork } from './thread-work.ts'
import { openWatchedThread } from './watched-thread.ts'
import type { ThreadEnd } from './watched-thread.ts'

/**
 * Decodes traces and compares them with manifests, in one thread for the whole process. A schema that
 * takes seconds, or all memory, ends the thread; the work is done again in a new one, in which that
 * schema is unverifiable. When no schema was at work, the traces that were in the thread are examined
 * one by one with nothing beside them, and one that ends the thread then is given up, if it was begun.
 * @param examiner default the one that all share
 */
export function examine(
  run: ThreadRun,
  request: ExaminationRequest,
  examiner: Examiner = sharedExaminer(),
): Promise<Examination[]> {
  return work(run, request, examinationWork(request), examiner)
}

/** Patches traces to fit the target manifest, in the same thread and as safely. */
export function repairTraces(
  run: ThreadRun & Pick<Run, 'contentForm'>,
  request: RepairRequest,
  examiner: Examiner = sharedExaminer(),
): Promise<Repair[]> {
  return work(run, request, repairWork(request, run.contentForm), examiner)
}

async function work<Result>(
  { log, meter, orgId }: ThreadRun,
  request: ThreadRequest,
  kind: ThreadWork<Result>,
  examiner: Examiner,
): Promise<Result[]> {
  const traces = request.traces.filter(({ given_up }) => !given_up)
  const results = await examiner.work({ ...request, traces }, kind)
  const found = new Map<ClosedTrace, Result>()
  for (const [i, trace] of traces.entries()) {
    const result = results[i]
    if (result === undefined) throw new TypeError('A trace has no result')
    found.set(trace, result)
    if (!kind.isGivenUp(result)) continue
    const { trace_id } = trace
    meter.traceGivenUp()
    log.error({ org_id: orgId, trace_id }, 'a trace ends the thread that examines it: given up')
  }
  return request.traces.map((trace) => found.get(trace) ?? kind.knownGivenUp)
}

/** @param heapMib memory that the thread may take for values */
export function openExaminer(heapMib: number) {
  const thread = openWatchedThread(heapMib, receive, recover)
  const plans = openPlans((task) => thread.post(task))
  /** What is in the thread. */
  const sent = new Map<number, Task>()
  /** What waits while traces are in the thread alone. */
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
    task?.settle(reply)
  }

  /** Called when the thread has ended. */
  function recover({ planId, schemaId, taskId, hasLoaded }: ThreadEnd) {
    plans.forgetSent()
    const tasks = [...sent.values()]
    const guilty = tasks.find(({ plan }) => plan.planId === planId)?.plan
    if (schemaId > 0 && guilty) {
      guilty.slow.push(schemaId)
      for (const task of tasks) send(task)
      return
    }
    sent.clear()
    if (hasLoaded && !isAlone) return void workAlone(tasks)
    for (const task of tasks) {
      if (task.taskId === taskId) task.giveUp()
      else task.reject(new Error('The thread that examines traces did not start with them'))
    }
  }

  /** Works on the traces of tasks one by one, with nothing else in the thread. */
  async function workAlone(tasks: readonly Task[]) {
    isAlone = true
    for (const task of tasks) await task.oneByOne()
    isAlone = false
    for (const task of line.splice(0)) send(task)
  }

  function makeTask<Result>(
    { plan, traces, kind }: Pick<Task, 'plan' | 'traces'> & { kind: ThreadWork<Result> },
    resolve: (results: Result[]) => void,
    reject: (error: unknown) => void,
  ): Task {
    const workOn = (trace: ClosedTrace) =>
      new Promise<Result[]>((resolveOne, rejectOne) => {
        send(makeTask({ plan, traces: [trace], kind }, resolveOne, rejectOne))
      })
    return {
      taskId: ++lastId,
      plan,
      traces,
      told: kind.told,
      settle(reply) {
        const results = kind.read(reply)
        if (results) resolve(results)
        else reject('error' in reply ? reply.error : new TypeError('A reply is to other work'))
      },
      reject,
      giveUp: () => resolve(traces.map(() => kind.givenUp)),
      async oneByOne() {
        const results: Result[] = []
        try {
          for (const trace of traces) results.push(...(await workOn(trace)))
          resolve(results)
        } catch (error) {
          reject(error)
        }
      },
    }
  }

  return {
    work: <Result>(request: ThreadRequest, kind: ThreadWork<Result>) =>
      new Promise<Result[]>((resolve, reject) => {
        const { traces } = request
        const task = makeTask({ plan: plans.find(request), traces, kind }, resolve, reject)
        if (isAlone) line.push(task)
        else send(task)
      }),
  }
}

/** Puts the contents into one block, whose memory is transferred, and leaves out columns not needed. */
function packTask({ taskId, plan, traces, told }: Task): WorkTask {
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
  return { ...told, taskId, planId: plan.planId, traces: packed, contents }
}

function sharedExaminer() {
  return (shared ??= openExaminer(HEAP_MIB))
}

let shared: Examiner | undefined

const HEAP_MIB = 512

type Examiner = ReturnType<typeof openExaminer>
type ThreadRun = Pick<Run, 'log' | 'meter' | 'orgId'>

interface Task {
  readonly taskId: number
  readonly plan: PlanTask
  readonly traces: readonly ClosedTrace[]
  readonly told: ThreadWork<unknown>['told']
  settle(reply: ThreadReply): void
  reject(error: unknown): void
  /** Ends it with what is said of traces that ended the thread. */
  giveUp(): void
  /** Sends its traces one after the other, and ends it with what is said of each. */
  oneByOne(): Promise<void>
}
