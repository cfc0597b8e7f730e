import { parseJson } from '../core/parse-json.ts'
import { isObject } from '../core/reader.ts'
import { textOf, withText } from '../traces/conversation.ts'
import { finalOutput, ownCalls } from '../traces/trace-use.ts'
import type { UsingTrace } from '../traces/trace-use.ts'
import type { LlmCall, Message } from '../traces/trace.ts'
import { patchEach } from './call-patch.ts'
import type { CallPatch } from './call-patch.ts'
import type { OutputPlan } from './compat-plan.ts'
import { rewrite } from './repair-text.ts'
import { describeFaults } from './schema-check.ts'
import type { Validate } from './schema-check.ts'
import { repairValue } from './tool-repair.ts'

/**
 * Patches what the agent's own LLM calls have of its answers, as outputs and among the messages: the final
 * output, and whatever else the old output contract took for one, each from the text that stands there.
 */
export function patchAnswers(trace: UsingTrace, plan: OutputPlan | null, patch: CallPatch) {
  if (!plan?.validate || !plan.isJson || !plan.isGiven) return trace
  const own = new Set(ownCalls(trace))
  // A trace that failed has no output that was judged.
  const final = trace.status === 'error' ? undefined : finalOutput(trace, [...own])?.text
  const repair = openRepair({ ...plan, validate: plan.validate }, final, patch)
  const patched = new Set<string>()
  const say = <M extends LlmCall['output']>(message: M): M => {
    const after = repair(textOf({ role: 'assistant', ...message }))
    if (after === undefined) return message
    patched.add(after)
    return patch.hasRoom(after.length) ? withText(message, after) : message
  }
  const answer = (message: Message) => (message.role === 'assistant' ? say(message) : message)
  const llm_calls = patchEach(trace.llm_calls, (call) => {
    if (!own.has(call)) return call
    const [output, rendered_input] = [say(call.output), patchEach(call.rendered_input, answer)]
    const isSame = output === call.output && rendered_input === call.rendered_input
    return isSame ? call : { ...call, output, rendered_input }
  })
  // The preview of a patched output is one of the patched text.
  const told = final === undefined ? undefined : repair(final)
  const final_output_preview =
    told !== undefined && patched.has(told) ? told : trace.final_output_preview
  return { ...trace, llm_calls, final_output_preview }
}

/**
 * Returns what becomes of a text: undefined where it stays. Each LLM call is given the answers before it
 * again, so what was found is kept.
 */
function openRepair(
  { validate, fitted, rules }: OutputPlan & { validate: Validate },
  final: string | undefined,
  patch: CallPatch,
) {
  const known = new Map<string, string | undefined>()
  function repair(text: string) {
    const value = parseJson(text)
    if (!isObject(value)) return undefined
    const faults = validate(value)
    if (!faults || faults.length === 0) return undefined
    const isAnswer = text === final || (fitted !== undefined && !fitted(value)?.length)
    if (!isAnswer) return undefined
    const repaired = repairValue(value, rules, validate)
    if (!repaired) {
      patch.unfit.add(null)
      return patch.refuse('left_unfit', `an earlier answer: ${describeFaults(faults)}`)
    }
    for (const rule of repaired.used) patch.used.add(rule)
    return rewrite(repaired.value, { text, value }) ?? patch.refuse('not_writable', 'an answer')
  }
  return (text: string) => {
    if (!known.has(text)) known.set(text, repair(text))
    return known.get(text)
  }
}
