// A worker thread that decodes traces, compares them with manifests and patches them. All schemas of
// tenants are compiled and run here, where a pattern or a recursion that takes for ever, or all memory,
// ends the thread and not the process. `watched-thread.ts` ends it, and reads from the shared marks which
// schema and which task were at work.
import { hash } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { holdsMoreValues } from '../../jobs/rules/core/value-count.ts'
import { applyRepair } from '../../jobs/rules/manifests/apply-repair.ts'
import { edgesOf } from '../../jobs/rules/traces/agent-edges.ts'
import type { CompatDecision } from '../../jobs/rules/manifests/compat-decision.ts'
import { planTransition } from '../../jobs/rules/manifests/compat-plan.ts'
import type { Transition } from '../../jobs/rules/manifests/compat-plan.ts'
import { classify } from '../../jobs/rules/manifests/compatibility.ts'
import { readContract } from '../../jobs/rules/manifests/contract.ts'
import { planRepair } from '../../jobs/rules/manifests/repair-plan.ts'
import type { RepairPlan } from '../../jobs/rules/manifests/repair-plan.ts'
import type { Compile } from '../../jobs/rules/manifests/schema-check.ts'
import { showRepair } from '../../jobs/rules/manifests/shown-repair.ts'
import {
  contentText,
  encodeContent,
  peekContent,
  readContent,
} from '../../jobs/rules/traces/content.ts'
import type { InflatedContent } from '../../jobs/rules/traces/content.ts'
import type { UsingTrace } from '../../jobs/rules/traces/trace-use.ts'
import { detectViolations, planDetection } from '../../jobs/rules/manifests/violations.ts'
import type { Detector } from '../../jobs/rules/manifests/violations.ts'
import type { Examination } from './examination.ts'
import { givenUp } from './given-up.ts'
import type { Repair } from './repair.ts'
import { schemaCompiler } from './schema-compiler.ts'
import { BEAT, PLAN, SCHEMA, TASK } from './thread-protocol.ts'
import type {
  ExamineTask,
  OpenedTrace,
  PlanTask,
  RepairTask,
  ThreadReply,
  ThreadTask,
  WorkTask,
} from './thread-protocol.ts'
import { openTimeBudget } from './time-budget.ts'

const marks: Int32Array = workerData
const plans = new Map<number, Plan>()

// The first beat reports that the thread is loaded: from now on the main thread checks that work goes on.
if (parentPort) Atomics.add(marks, BEAT, 1)
parentPort?.on('message', (task: ThreadTask) => {
  switch (task.kind) {
    case 'plan':
      plans.set(task.planId, makePlan(task))
      return
    case 'forget':
      plans.delete(task.planId)
      return
    case 'examine':
    case 'repair':
      parentPort?.postMessage(answer(task))
  }
})

/** The schemas for violations are compiled only when violations are asked for, and after the others. */
function makePlan({ planId, manifest, target, slow }: PlanTask): Plan {
  const compile = markedCompiler(planId, new Set(slow))
  const transition = manifest && target ? planTransition(manifest, target, compile) : undefined
  let detector: Detector | undefined
  let repair: RepairPlan | undefined
  return {
    transition,
    repair() {
      if (transition && target) repair ??= planRepair(transition, target)
      return repair
    },
    detector() {
      if (manifest) detector ??= planDetection(readContract(manifest), compile)
      return detector
    },
  }
}

function answer(task: WorkTask): ThreadReply {
  const { taskId } = task
  Atomics.store(marks, TASK, taskId)
  try {
    const plan = plans.get(task.planId)
    if (!plan) throw new TypeError('The plan of a task has not come before it')
    if (task.kind === 'repair') {
      const approved = task.approved && new Set(task.approved)
      return { taskId, repairs: ofEach(task, (trace) => repair(trace, plan, task, approved)) }
    }
    const intern = interner()
    return {
      taskId,
      examinations: ofEach(task, (trace) => examine(trace, plan, task.wants, intern)),
    }
  } catch (error) {
    return { taskId, error }
  }
}

/** @param work is given undefined for a trace that has to be given up */
function ofEach<Result>(task: WorkTask, work: (trace: UsingTrace | undefined) => Result) {
  const results: Result[] = []
  for (const closed of unpack(task)) {
    const inflated = peekContent(closed.content)
    Atomics.add(marks, BEAT, 1)
    const isOpened = !mayHoldMoreValues(inflated.text, MAX_VALUES.examine)
    results.push(work(isOpened ? open(closed, inflated) : undefined))
  }
  return results
}

function unpack({ traces, contents }: WorkTask): OpenedTrace[] {
  let at = 0
  return traces.map(({ length, ...columns }) => {
    const content = contents.subarray(at, at + length)
    at += length
    return { ...columns, content }
  })
}

function examine(
  trace: UsingTrace | undefined,
  { transition, detector }: Plan,
  wants: ExamineTask['wants'],
  intern: (decision: CompatDecision) => CompatDecision,
): Examination {
  if (!trace) return givenUp(transition !== undefined, wants)
  const compatibility = transition ? intern(classify(trace, transition)) : null
  if (wants === 'compatibility') {
    return { compatibility, violations: NONE, edges: NONE, given_up: false }
  }
  const found = detector()
  const violations = found ? detectViolations(trace, found) : NONE
  return { compatibility, violations, edges: edgesOf(trace), given_up: false }
}

function repair(
  trace: UsingTrace | undefined,
  plan: Plan,
  { wants, form }: RepairTask,
  approved: ReadonlySet<number> | null,
): Repair {
  const repairPlan = plan.repair()
  if (!repairPlan) throw new TypeError('A repair needs two manifests')
  if (!trace) return { kind: 'ineligible' }
  // What is patched shares nothing, so that each message counts wherever it stands.
  if (holdsMoreValues([trace.spans, trace.llm_calls], MAX_VALUES.repair)) {
    const { verdict } = classify(trace, repairPlan.transition)
    return { kind: verdict === 'repair' ? 'given_up' : 'ineligible' }
  }
  const outcome = applyRepair(trace, repairPlan, approved)
  if (outcome.kind !== 'repaired') return outcome
  const { content, ...repaired } = outcome
  return {
    ...repaired,
    // A copy: a buffer would be sent with all the memory it is a part of.
    content: new Uint8Array(encodeContent(content, form)),
    content_hash: new Uint8Array(hash('sha256', contentText(content), 'buffer')),
    shown: wants === 'preview' ? showRepair(trace.llm_calls, content.llm_calls) : null,
  }
}

function open({ content: _, ...columns }: OpenedTrace, inflated: InflatedContent): UsingTrace {
  return { ...columns, ...readContent(inflated) }
}

/**
 * Whether a text may hold so many values that to parse them takes all the memory of the thread. V8 does
 * not look at the limit while it parses, so that the process would end with it.
 */
function mayHoldMoreValues(text: Uint8Array, max: number) {
  if (text.length <= max) return false
  let values = 0
  for (const byte of text) if (byte === COMMA || byte === BRACE || byte === BRACKET) values++
  return values > max
}

/** Makes equal decisions one object, which is sent to the main thread once. */
function interner() {
  const known = new Map<string, CompatDecision>()
  return (decision: CompatDecision) => {
    const key = hash('sha256', JSON.stringify(decision))
    const same = known.get(key)
    if (!same) known.set(key, decision)
    return same ?? decision
  }
}

/**
 * A compiler that marks which schema is at work. A schema that has proved slow is unverifiable: one the
 * plan lists from the start, another one once its validations have used up their time.
 */
function markedCompiler(planId: number, slow: ReadonlySet<number>): Compile {
  const compile = schemaCompiler()
  let made = 0
  return (schema) => {
    const schemaId = ++made
    if (slow.has(schemaId)) return () => undefined
    const validate = marked(planId, schemaId, () => compile(schema))
    const budget = openTimeBudget()
    return (value) => {
      if (budget.isUsedUp()) return undefined
      return budget.spend(() => marked(planId, schemaId, () => validate(value)))
    }
  }
}

function marked<T>(planId: number, schemaId: number, work: () => T): T {
  Atomics.add(marks, BEAT, 1)
  Atomics.store(marks, PLAN, planId)
  Atomics.store(marks, SCHEMA, schemaId)
  const result = work()
  Atomics.store(marks, SCHEMA, 0)
  return result
}

/** Each takes about 100 bytes; what is repaired is there twice, and as a text. */
const MAX_VALUES = { examine: 3_000_000, repair: 1_000_000 }
const [COMMA, BRACE, BRACKET] = Buffer.from(',{[')
const NONE: never[] = []

interface Plan {
  transition: Transition | undefined
  /** Returns undefined without both manifests. */
  repair: () => RepairPlan | undefined
  /** Returns undefined without a manifest. */
  detector: () => Detector | undefined
}
