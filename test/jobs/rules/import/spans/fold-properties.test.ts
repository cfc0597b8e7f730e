import t from 'tap'
import type { MappedSpan, ReadSpan } from '../../../../../jobs/rules/import/format.ts'
import { preferredSpan } from '../../../../../jobs/rules/import/spans/span-order.ts'
import { atOnce } from '../../../../../jobs/rules/core/in-steps.ts'
import { readSpansOf, unionOfSpans } from '../../../../../jobs/rules/import/spans/span-trace.ts'
import {
  contentText,
  decodeContent,
  encodeContent,
} from '../../../../../jobs/rules/traces/content.ts'
import type { Trace } from '../../../../../jobs/rules/traces/trace.ts'
import { foldOf, readSpanOf } from '../../../../support/mapped-spans.ts'
import fc from '../../../../support/property.ts'

const IDS = ['a', 'b', 'c', 'd', 'e']
const TIMES = ['01Z', '01.0Z', '01.5Z', '01.50Z', '01.500000001Z', '02Z', '10Z'].map(
  (seconds) => `2026-01-01T00:00:${seconds}`,
)
const attributes = fc.dictionary(
  fc.constantFrom(
    'session.id',
    'user.id',
    'gen_ai.agent.name',
    'service.version',
    'acme.manifest_id',
    'gen_ai.tool.name',
    'gen_ai.tool.call.id',
    'gen_ai.tool.call.result',
    'arguments',
    'exception.message',
  ),
  fc.constantFrom<unknown>('x', 'y', 'z', {}),
)
const toolCall = fc.record({
  id: fc.constantFrom('x', 'y'),
  function: fc.record({ name: fc.constantFrom('x', 'y'), arguments: fc.constant('{}') }),
})
const call: fc.Arbitrary<MappedSpan['call']> = fc.option(
  fc.record({
    rendered_input: fc.array(fc.record({ role: fc.constant('user'), content: fc.string() }), {
      maxLength: 3,
    }),
    output: fc.record({
      content: fc.constantFrom('', 'None', 'Yes', 'No'),
      tool_calls: fc.array(toolCall, { maxLength: 2 }),
    }),
    input_tokens: fc.constantFrom(null, 1, 2),
  }),
)
function spanOf(id: string): fc.Arbitrary<ReadSpan> {
  return fc
    .record(
      {
        parent_span_id: fc.constantFrom(...IDS, 'elsewhere', null),
        span_type: fc.constantFrom('llm', 'tool', 'tool', 'agent', 'agent', 'judge', 'handoff'),
        status: fc.constantFrom('success', 'error'),
        started_at: fc.constantFrom(...TIMES),
        ended_at: fc.constantFrom(...TIMES),
        input_preview: fc.constantFrom('in', 'in too'),
        attributes,
      },
      { requiredKeys: [] },
    )
    .chain((span) => call.map((each) => readSpanOf({ id, ...span }, each)))
}

const spans = fc.array(fc.constantFrom(...IDS).chain(spanOf), { maxLength: 12 })

t.test('the order of spans changes nothing', async () => {
  const shuffled = spans.chain((each) => {
    const { length } = each
    return fc.tuple(
      fc.constant(each),
      fc.shuffledSubarray(each, { minLength: length, maxLength: length }),
    )
  })
  fc.assert(fc.property(shuffled, ([each, other]) => bytesOf(each) === bytesOf(other)))
})

t.test('spans that come twice change nothing', async () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: 0, max: 20 }), (each, count) => {
      return bytesOf(each) === bytesOf([...each, ...each.slice(0, count)])
    }),
  )
})

t.test('a trace that is stored between its spans is the same', async () => {
  fc.assert(
    fc.property(spans, fc.integer({ min: 0, max: 20 }), (each, at) => {
      const stored = storedSpans(each.slice(0, at))
      const { spans: united } = atOnce(unionOfSpans(stored, each.slice(at)))
      return bytesOf(each) === bytesOf(united)
    }),
    { numRuns: 2000 },
  )
})

t.test('spans that were stored are none that change the trace', async () => {
  fc.assert(
    fc.property(spans, (each) => {
      const stored = storedSpans(each)
      const { spans: united, added, changed } = atOnce(unionOfSpans(stored, each))
      return united === stored && added === 0 && !changed
    }),
  )
})

t.test('a union says how many ids it added', async () => {
  const idsOf = (each: readonly ReadSpan[]) => new Set(each.map(({ span }) => span.id))
  fc.assert(
    fc.property(spans, spans, (stored, sent) => {
      const { spans: united, added } = atOnce(unionOfSpans(storedSpans(stored), sent))
      const all = idsOf([...stored, ...sent])
      return united.length === all.size && added === all.size - idsOf(stored).size
    }),
  )
})

t.test('of spans of one id the same one holds whichever came first', async () => {
  const one = fc.constant('a').chain(spanOf)
  fc.assert(
    fc.property(one, one, one, (a, b, c) => {
      const least = preferredSpan(preferredSpan(a, b), c)
      return [preferredSpan(preferredSpan(c, b), a), preferredSpan(b, preferredSpan(a, c))].every(
        (other) => JSON.stringify(other) === JSON.stringify(least),
      )
    }),
  )
})

/** What is stored of a trace made of these spans. */
function bytesOf(each: readonly ReadSpan[]) {
  const { trace, isWhole } = foldOf(each)
  return JSON.stringify([{ ...trace, spans: [], llm_calls: [] }, isWhole]) + contentText(trace)
}

function storedSpans(each: readonly ReadSpan[]) {
  const { trace }: { trace: Trace } = foldOf(each)
  return atOnce(readSpansOf(decodeContent(encodeContent(trace, 'shared'))))
}
