import t from 'tap'
import { traceOfParts } from '../../../../../jobs/rules/import/assembled-trace.ts'
import type { Members, Part } from '../../../../../jobs/rules/import/format.ts'
import { decodeTraceRequest } from '../../../../../jobs/rules/import/otlp/otlp-protobuf.ts'
import { otlp } from '../../../../../jobs/rules/import/otlp/otlp.ts'
import { contentText } from '../../../../../jobs/rules/traces/content.ts'
import { encodeTraceRequest, otlpSpan, requestOf } from '../../../../support/otlp-requests.ts'
import fc from '../../../../support/property.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const ROOT = otlpSpan({
  spanId: 'aaaaaaaaaaaaaaa1',
  name: 'invoke_agent planner',
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'planner',
    'gen_ai.conversation.id': 'conv-1',
    'my.manifest_hash': 'a'.repeat(64),
  },
})
const CALL = otlpSpan({
  spanId: 'aaaaaaaaaaaaaaa2',
  parentSpanId: 'aaaaaaaaaaaaaaa1',
  startTimeUnixNano: '1795248803071000002',
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'Weather?' }] }],
    'gen_ai.output.messages': [
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'call_1', name: 'search', arguments: { q: 'x' } }],
        finish_reason: 'tool_calls',
      },
    ],
  },
})
const TOOL = otlpSpan({
  spanId: 'aaaaaaaaaaaaaaa3',
  parentSpanId: 'aaaaaaaaaaaaaaa1',
  startTimeUnixNano: '1795248803071000003',
  name: 'execute_tool search',
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.id': 'call_1',
    'gen_ai.tool.call.result': 'rainy',
  },
})
const OTHER = otlpSpan({ traceId: '5b8efff798038103d269b633813fc60c' })
const RESOURCE = { 'service.name': 'demo', 'service.version': '1.2.3', fixture: 'weather' }
const REQUEST = requestOf([CALL, TOOL, ROOT], { resource: RESOURCE })

t.test('a record is a request, a ResourceSpans or a span, by either names', (t) => {
  const [resourceSpans] = REQUEST['resourceSpans'] as [Members]
  t.ok(otlp.matches(REQUEST))
  t.ok(otlp.matches(resourceSpans))
  t.ok(otlp.matches({ resource_spans: [] }))
  t.ok(otlp.matches({ scope_spans: [] }))
  t.ok(otlp.matches(ROOT))
  t.ok(otlp.matches({ trace_id: TRACE_ID, span_id: 'x', start_time_unix_nano: 1 }))
  t.ok(otlp.matches({ trace_id: TRACE_ID, span_id: 'x', attributes: [] }))
  t.notOk(otlp.matches({ trace_id: TRACE_ID, span_id: 'x', attributes: {} }))
  t.notOk(otlp.matches({ spans: [] }))
  t.notOk(otlp.matches({ context: { trace_id: TRACE_ID } }))
  t.end()
})

t.test('what is said of all spans of a scope is one part in each of their traces', (t) => {
  const parts = partsOf(requestOf([CALL, TOOL, ROOT, OTHER], { resource: RESOURCE }))
  const kinds = parts.map(({ trace_id, kind }) => `${trace_id.slice(0, 2)} ${kind}`)
  t.strictSame(kinds, ['0a trace', '0a span', '0a span', '0a span', '5b trace', '5b span'])
  t.equal(parts[0]?.id, parts[4]?.id)
  for (const { kind, value } of parts) {
    t.equal(JSON.stringify(value).includes('service.name'), kind === 'trace')
  }
  t.end()
})

t.test('the spans of a request are a trace', (t) => {
  const { trace, losses, isWhole } = traceOf(partsOf(REQUEST))
  t.strictSame(losses, [])
  t.ok(isWhole)
  t.match(trace, {
    trace_id: TRACE_ID,
    agent_name: 'planner',
    session_id: 'conv-1',
    release: '1.2.3',
    manifest_hash: 'a'.repeat(64),
    status: 'success',
    metadata: { fixture: 'weather', import: { source: 'otlp', trace_id: TRACE_ID } },
    llm_calls: [
      {
        id: 'aaaaaaaaaaaaaaa2',
        span_id: 'aaaaaaaaaaaaaaa2',
        model_name: 'm',
        finish_reason: 'tool_calls',
        tool_calls: [{ id: 'call_1', tool_name: 'search', args: { q: 'x' }, result: 'rainy' }],
      },
    ],
  })
  t.equal(trace.spans.length, 3)
  t.end()
})

t.test(
  'a request in JSON, in protobuf, and cut into several, is the same trace byte for byte',
  (t) => {
    const expected = textOf(partsOf(REQUEST))
    t.equal(textOf(partsOf(decodeTraceRequest(encodeTraceRequest(REQUEST)))), expected)
    const single = [TOOL, ROOT, CALL].map((span) => requestOf([span], { resource: RESOURCE }))
    t.equal(textOf(single.flatMap(partsOf)), expected)
    const [resourceSpans] = REQUEST['resourceSpans'] as [Members]
    t.equal(textOf(partsOf(resourceSpans)), expected)
    t.end()
  },
)

t.test('spans one by one, as Phoenix lists them, are the trace of their request', (t) => {
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain)
    if (typeof value !== 'object' || value === null) return value
    const named = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [named(name), plain(each)]),
    )
  }
  const scopeSpans = [{ spans: [CALL, TOOL, ROOT] }]
  const expected = textOf(partsOf({ resourceSpans: [{ scopeSpans }] }))
  for (const spans of [
    [ROOT, CALL, TOOL],
    [ROOT, CALL, TOOL].map((span) => plain(span) as Members),
  ]) {
    t.equal(textOf(spans.flatMap(partsOf)), expected)
  }
  t.match(otlp.read({ ...ROOT, spanId: 'x' }), { message: /^spanId must be 8 bytes/ })
  t.end()
})

t.test('parts in any order, and told twice, are the same trace', (t) => {
  const unended = { ...CALL, endTimeUnixNano: '0' }
  const faulty = [CALL, TOOL].map((span) => ({
    ...span,
    spanId: `b${String(span['spanId']).slice(1)}`,
  }))
  const parts = [
    ...partsOf(REQUEST),
    ...partsOf(requestOf([unended, ROOT])),
    ...partsOf(requestOf(faulty.map((span, i) => ({ ...span, [['kind', 'name'][i] ?? '']: [] })))),
  ]
  const expected = resultOf(parts)
  fc.assert(
    fc.property(
      fc.shuffledSubarray(parts, { minLength: parts.length }),
      fc.subarray(parts),
      (shuffled, again) => resultOf([...shuffled, ...again]) === expected,
    ),
    { numRuns: 100 },
  )
  t.end()
})

t.test('a span that names no trace is a loss, and a record of no other spans is refused', (t) => {
  const read = otlp.read(requestOf([CALL, { ...TOOL, spanId: 'x' }]))
  t.match(read, {
    parts: { length: 2 },
    losses: [
      {
        code: 'span_refused',
        message: /^resourceSpans\.0\.scopeSpans\.0\.spans\.1\.spanId must be 8 bytes/,
      },
    ],
  })
  t.strictSame(otlp.read(requestOf([{ ...TOOL, traceId: '' }])), {
    code: 'invalid_record',
    message: 'resourceSpans.0.scopeSpans.0.spans.0.traceId must not be empty or all zeros',
  })
  t.strictSame(otlp.read({ resourceSpans: [] }), { parts: [], losses: [] })
  t.end()
})

t.test('spans without the part that tells of their scope are read without it', (t) => {
  const parts = partsOf(REQUEST).filter(({ kind }) => kind === 'span')
  const { spans } = otlp.assemble(parts)
  t.equal(spans.length, 3)
  t.notOk(JSON.stringify(spans).includes('service.name'))
  t.end()
})

function partsOf(record: Members): readonly Part[] {
  const read = otlp.read(record)
  if ('code' in read) throw new Error(read.message)
  return read.parts
}

function traceOf(parts: readonly Part[]) {
  // As parts come back from where they were kept.
  const kept = JSON.parse(JSON.stringify(parts)) as Part[]
  return traceOfParts(otlp.assemble(kept), {
    traceId: TRACE_ID,
    source: 'otlp',
    agentName: null,
    now: new Date(0),
  })
}

function textOf(parts: readonly Part[]) {
  const { trace } = traceOf(parts)
  return contentText(trace)
}

function resultOf(parts: readonly Part[]) {
  return JSON.stringify(traceOf(parts))
}
