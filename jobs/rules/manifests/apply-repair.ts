import { toolsCalled } from '../traces/trace-facts.ts'
import { ownCalls } from '../traces/trace-use.ts'
import type { UsingTrace } from '../traces/trace-use.ts'
import { patchAnswers } from './answer-patch.ts'
import { CallPatch } from './call-patch.ts'
import { classify } from './compatibility.ts'
import type { RepairOutcome } from './repair-outcome.ts'
import type { RepairPlan } from './repair-plan.ts'
import type { RepairRule } from './tool-repair.ts'

/**
 * Patches a trace so that it fits the target manifest: the calls and the answers of the agent's own
 * LLM calls, and the tools they were offered. Spans, results of tools and what other agents did stay as
 * recorded. The trace itself is not changed; what needs no patch is shared with it.
 * @param approved indices of the rules that may be used; null for all
 */
export function applyRepair(
  trace: UsingTrace,
  plan: RepairPlan,
  approved: ReadonlySet<number> | null,
): RepairOutcome {
  const { transition } = plan
  const { verdict, repair_rules } = classify(trace, transition)
  if (verdict !== 'repair') return { kind: 'ineligible' }
  const patch = new CallPatch(plan)
  const patched = patchAnswers(patchCalls(trace, patch), transition.output, patch)
  for (const rule of repair_rules) patch.used.add(rule)
  checkWhole(patched, plan, patch)
  const rules = indicesOf(patch.used, plan)
  if (patch.fault) {
    const fitting = [...patch.used].filter(({ tool }) => !patch.unfit.has(tool))
    return { kind: 'failed', ...patch.fault, rules, fitting: indicesOf(fitting, plan) }
  }
  const needs = approved ? rules.filter((index) => !approved.has(index)) : []
  if (needs.length > 0) return { kind: 'skipped', needs }
  const { spans, llm_calls } = patched
  const tools_called = toolsCalled(patched)
  return { kind: 'repaired', content: { spans, llm_calls }, rules, tools_called }
}

function patchCalls(trace: UsingTrace, patch: CallPatch): UsingTrace {
  const own = new Set(ownCalls(trace))
  const llm_calls = trace.llm_calls.map((call) => (own.has(call) ? patch.llmCall(call) : call))
  return { ...trace, llm_calls }
}

/** Nothing may be left that does not fit, such as calls that only spans tell of. */
function checkWhole(patched: UsingTrace, { transition }: RepairPlan, patch: CallPatch) {
  const { verdict, reasons } = classify(patched, transition)
  if (verdict === 'keep') return
  for (const { action, component_type, subject, code } of reasons) {
    if (component_type === null || action === 'keep' || action === 'flag') continue
    patch.unfit.add(component_type === 'tool' ? subject : null)
    const why = 'what stands outside of LLM calls is not patched'
    patch.refuse('left_unfit', `${code} ${subject}: ${why}`)
  }
}

function indicesOf(rules: Iterable<RepairRule>, { indices }: RepairPlan): number[] {
  return [...rules].flatMap((rule) => indices.get(rule) ?? []).sort((a, b) => a - b)
}
