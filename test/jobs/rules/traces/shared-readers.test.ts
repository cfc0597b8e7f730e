import t from 'tap'
import { atOnce } from '../../../../jobs/rules/core/in-steps.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import { openRowMaker } from '../../../../jobs/rules/datasets/rows.ts'
import {
  readSpansOf,
  traceOfSpans,
  unionOfSpans,
} from '../../../../jobs/rules/import/spans/span-trace.ts'
import { applyRepair } from '../../../../jobs/rules/manifests/apply-repair.ts'
import { planTransition } from '../../../../jobs/rules/manifests/compat-plan.ts'
import { classify } from '../../../../jobs/rules/manifests/compatibility.ts'
import { readContract } from '../../../../jobs/rules/manifests/contract.ts'
import { planRepair } from '../../../../jobs/rules/manifests/repair-plan.ts'
import { showRepair } from '../../../../jobs/rules/manifests/shown-repair.ts'
import { detectViolations, planDetection } from '../../../../jobs/rules/manifests/violations.ts'
import type { Manifest } from '../../../../jobs/rules/manifests/manifest.ts'
import { rehearse } from '../../../../jobs/rules/regression/call-replay.ts'
import { readOutput } from '../../../../jobs/rules/replay/recorded-output.ts'
import { judgeReplayability } from '../../../../jobs/rules/replay/replayability.ts'
import { makeTaskInput } from '../../../../jobs/rules/replay/task-input.ts'
import { edgesOf } from '../../../../jobs/rules/traces/agent-edges.ts'
import { decodeContent, encodeContent } from '../../../../jobs/rules/traces/content.ts'
import type { ContentForm } from '../../../../jobs/rules/traces/content.ts'
import { factsOf } from '../../../../jobs/rules/traces/trace-facts.ts'
import { ownCalls, toolsUsed } from '../../../../jobs/rules/traces/trace-use.ts'
import type { Trace } from '../../../../jobs/rules/traces/trace.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import fc from '../../../support/property.ts'
import { recorded } from '../../../support/recorded-trace.ts'
import { manifestPairs, sentTraces } from '../../../support/repairable-traces.ts'
import { candidate } from '../../../support/training-rows.ts'

const compile = schemaCompiler()
const pause = async () => undefined

t.test('whoever opens a trace finds the same in either form, and changes nothing', async (t) => {
  await fc.assert(
    fc.asyncProperty(manifestPairs(), sentTraces(), async ({ before, after }, sent) => {
      const trace = recorded(sent)
      const [whole, shared] = [opened(trace, 'whole'), opened(trace, 'shared')]
      const expected = await readAll(whole, before, after)
      // What is frozen cannot be changed: modules are strict.
      t.same(await readAll(frozen(shared), before, after), expected)
    }),
  )
})

function opened(trace: Trace, form: ContentForm): Trace {
  return { ...trace, ...decodeContent(encodeContent(trace, form)) }
}

/** What all that read contents make of a trace, but for those that only write it as it is. */
async function readAll(trace: Trace, before: Manifest, after: Manifest) {
  const transition = planTransition(before, after, compile)
  const repaired = applyRepair(trace, planRepair(transition, after), null)
  const rows = (['sft', 'kto'] as const).flatMap((type) =>
    (['conversation', 'call'] as const).map((style) => {
      const recipe = completeRecipe(type, null, { options: { rows: style } })
      return openRowMaker(recipe)(candidate, { ...trace, corrected_output: 'corrected' })
    }),
  )
  const spans = atOnce(readSpansOf(trace))
  const united = atOnce(unionOfSpans(spans, spans.slice(1)))
  const options = { traceId: 't', now: new Date(0), sourceType: 'production', isClosed: true }
  return {
    rows,
    repaired,
    shown: repaired.kind === 'repaired' && showRepair(trace.llm_calls, repaired.content.llm_calls),
    facts: factsOf(trace),
    classified: classify(trace, transition),
    violations: detectViolations(trace, planDetection(readContract(before), compile)),
    edges: edgesOf(trace),
    tools: toolsUsed(trace, ownCalls(trace)),
    output: readOutput(trace),
    replayability: judgeReplayability(trace),
    task: await makeTaskInput(trace, null, pause),
    rehearsal: rehearse([trace], { from: 'a', to: 'b' } as never),
    folded: traceOfSpans(united.spans, {}, options as never),
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    if (!(value instanceof Date)) Object.freeze(value)
    for (const member of Object.values(value)) frozen(member)
  }
  return value
}
