import t from 'tap'
import type { Members } from '../../../../../jobs/rules/import/format.ts'
import { decodeTraceRequest } from '../../../../../jobs/rules/import/otlp/otlp-protobuf.ts'
import { spansOfRequest } from '../../../../../jobs/rules/import/otlp/otlp-spans.ts'
import type { RejectedSpan, TakenSpan } from '../../../../../jobs/rules/import/otlp/otlp-spans.ts'
import {
  encodeTraceRequest,
  keyValues,
  otlpSpan,
  requestOf,
} from '../../../../support/otlp-requests.ts'
import fc from '../../../../support/property.ts'

/** More of them with FUZZ_RUNS. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 500)
const FAILED = otlpSpan({
  name: 'execute_tool search',
  parentSpanId: 'eee19b7ec3c1b173',
  kind: 3,
  traceState: 'vendor=1',
  flags: 257,
  droppedAttributesCount: 2,
  attributes: { 'gen_ai.operation.name': 'execute_tool', mine: { deep: [1, 'x', null] } },
  events: [
    {
      timeUnixNano: '1795248803071000009',
      name: 'exception',
      attributes: { 'exception.type': 'E', 'exception.message': 'first' },
    },
    {
      timeUnixNano: '1795248803071000010',
      name: 'exception',
      attributes: { 'exception.type': 'E', 'exception.message': 'last' },
    },
  ],
  links: [{ traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174' }],
  status: { code: 2, message: 'timeout' },
})

const CHAT = otlpSpan({
  spanId: 'b7ad6b7169203332',
  name: 'chat m',
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
    'gen_ai.prompt.0.content': 'hi',
    'llm.input_messages.0.message.content': 'hi',
    'ai.prompt.messages': '[]',
    'langfuse.observation.type': 'generation',
    'langfuse.observation.input': '[{"role":"user","content":"hi"}]',
  },
})

t.test('a span keeps everything that it says', (t) => {
  const { mapped, losses } = only(requestOf([FAILED], { resource: { 'service.name': 'demo' } }))
  t.strictSame(losses, [])
  t.strictSame(mapped.span, {
    id: 'b7ad6b7169203331',
    parent_span_id: 'eee19b7ec3c1b173',
    span_type: 'tool',
    name: 'execute_tool search',
    status: 'error',
    started_at: '2026-11-21T08:13:23.071000001Z',
    ended_at: '2026-11-21T08:13:24.071000001Z',
    input_preview: null,
    output_preview: null,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      mine: { deep: [1, 'x', null] },
      'gen_ai.tool.name': 'search',
      'status.message': 'timeout',
      'exception.type': 'E',
      'exception.message': 'last',
      'otel.kind': 3,
      'otel.trace_state': 'vendor=1',
      'otel.flags': 257,
      'otel.dropped_attributes_count': 2,
      resource: { 'service.name': 'demo' },
      scope: { name: 'a-library', version: '1.0' },
      events: [
        {
          name: 'exception',
          time: '2026-11-21T08:13:23.071000009Z',
          attributes: { 'exception.type': 'E', 'exception.message': 'first' },
        },
        {
          name: 'exception',
          time: '2026-11-21T08:13:23.071000010Z',
          attributes: { 'exception.type': 'E', 'exception.message': 'last' },
        },
      ],
      links: [{ trace_id: '5b8efff798038103d269b633813fc60c', span_id: 'eee19b7ec3c1b174' }],
    },
  })
  t.equal(mapped.call, null)
  t.end()
})

t.test('the same spans are the same through JSON and through protobuf', (t) => {
  const request = requestOf(
    [FAILED, CHAT, otlpSpan({ attributes: { big: 9007199254740991, part: 0.5, no: false } })],
    { resource: { project: 'p', fixture: true } },
  )
  const sent = [...spansOfRequest(request)]
  t.equal(sent.length, 3)
  t.equal(
    JSON.stringify([...spansOfRequest(decodeTraceRequest(encodeTraceRequest(request)))]),
    JSON.stringify(sent),
  )
  t.end()
})

t.test('names that protobuf has are read like those of the JSON encoding', (t) => {
  const request = requestOf([FAILED, CHAT], { resource: { 'service.name': 'x' } })
  t.same([...spansOfRequest(inSnakeCase(request) as Members)], [...spansOfRequest(request)])
  t.end()
})

t.test('a ResourceSpans and a ScopeSpans alone are read like a request', (t) => {
  const request = requestOf([CHAT], { resource: { 'service.name': 'x' } })
  const [resourceSpans] = request['resourceSpans'] as [Members]
  const [scopeSpans] = resourceSpans['scopeSpans'] as [Members]
  t.same([...spansOfRequest(resourceSpans)], [...spansOfRequest(request)])
  const { mapped } = only({ scopeSpans: [scopeSpans] })
  t.strictSame((mapped.span['attributes'] as Members)['scope'], {
    name: 'a-library',
    version: '1.0',
  })
  t.strictSame([...spansOfRequest({})], [])
  t.end()
})

t.test('ids are read from hexadecimal digits of any case and from base64', (t) => {
  const hex = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
  const forms = [
    hex,
    { traceId: hex.traceId.toUpperCase(), spanId: hex.spanId.toUpperCase() },
    { traceId: 'CvdlGRbNQ92ESOshHIAxnA==', spanId: 't61rcWkgMzE=' },
    { traceId: 'CvdlGRbNQ92ESOshHIAxnA', spanId: 't61rcWkgMzE' },
  ]
  for (const form of forms) {
    const { traceId, spanId, mapped } = only(requestOf([otlpSpan(form)]))
    t.strictSame({ traceId, spanId }, hex)
    t.equal(mapped.span['id'], hex.spanId)
  }
  t.end()
})

t.test('a span without an id of its trace or its own is rejected by its place', (t) => {
  const cases: [Members, string][] = [
    [{ traceId: '00000000000000000000000000000000' }, 'traceId must not be empty or all zeros'],
    [{ traceId: '' }, 'traceId must not be empty or all zeros'],
    [{ traceId: 'AAAAAAAAAAAAAAAAAAAAAA==' }, 'traceId must not be empty or all zeros'],
    [{ traceId: 'b7ad6b7169203331' }, 'traceId must be 16 bytes as hexadecimal digits or base64'],
    [{ traceId: 7 }, 'traceId must be 16 bytes as hexadecimal digits or base64'],
    [{ spanId: 'zzzzzzzzzzzzzzzz' }, 'spanId must be 8 bytes as hexadecimal digits or base64'],
    [{ spanId: undefined }, 'spanId must not be empty or all zeros'],
  ]
  for (const [members, reason] of cases) {
    const [first, second] = spansOfRequest(requestOf([otlpSpan(), otlpSpan(members)]))
    t.notOk(first && 'rejected' in first)
    t.strictSame(second, { rejected: `resourceSpans.0.scopeSpans.0.spans.1.${reason}` })
  }
  t.end()
})

t.test('what is no list and no object is rejected, and costs only itself', (t) => {
  t.strictSame(
    [...spansOfRequest({ resourceSpans: 'x' })],
    [{ rejected: 'resourceSpans must be a list' }],
  )
  const [good] = requestOf([CHAT])['resourceSpans'] as Members[]
  const request = {
    resourceSpans: [
      null,
      { scopeSpans: 5 },
      { scopeSpans: [7, { spans: [[]] }, { spans: {} }] },
      good,
    ],
  }
  const read = [...spansOfRequest(request)]
  t.strictSame(read.slice(0, -1), [
    { rejected: 'resourceSpans.0 must be an object' },
    { rejected: 'resourceSpans.1.scopeSpans must be a list' },
    { rejected: 'resourceSpans.2.scopeSpans.0 must be an object' },
    { rejected: 'resourceSpans.2.scopeSpans.1.spans.0 must be an object' },
    { rejected: 'resourceSpans.2.scopeSpans.2.spans must be a list' },
  ])
  t.notOk('rejected' in (read.at(-1) as object))
  t.end()
})

t.test('a member that is not of its type is a loss and nothing else', (t) => {
  const wrong = {
    parentSpanId: 'x',
    name: 5,
    kind: {},
    startTimeUnixNano: 'yesterday',
    endTimeUnixNano: true,
    status: 'bad',
    links: [{ traceId: 'x' }, 4],
    attributes: [
      { key: 'a', value: { stringValue: 5 } },
      { key: 'b', value: { intValue: 'many' } },
      { key: 'c', value: 'bare' },
      { key: 7, value: { stringValue: 'x' } },
      { key: 'd', value: { stringValue: 'kept' } },
      { key: 'd', value: { stringValue: 'again' } },
      'none',
    ],
  }
  const { mapped, losses } = only(requestOf([{ ...otlpSpan(), ...wrong }]))
  t.match(mapped.span, {
    parent_span_id: null,
    name: '',
    started_at: null,
    ended_at: null,
    status: 'success',
  })
  t.match(mapped.span['attributes'], { a: null, b: null, c: null, d: 'kept' })
  const codes = losses.map(({ code }) => code).toSorted()
  t.strictSame(codes, [...Array<string>(12).fill('member_invalid'), 'time_invalid', 'time_invalid'])
  t.end()
})

t.test('of a value that names all kinds the one that is not null counts', (t) => {
  const unset = { array_value: null, bool_value: null, int_value: null, string_value: null }
  const attributes = [
    { key: 'count', value: { ...unset, int_value: 3 } },
    { key: 'flag', value: { ...unset, bool_value: false } },
    { key: 'none', value: unset },
  ]
  const { mapped, losses } = only(requestOf([{ ...otlpSpan(), attributes }]))
  t.strictSame(losses, [])
  t.match(mapped.span['attributes'], { count: 3, flag: false, none: null })
  t.end()
})

t.test('a whole number that a double cannot hold keeps its digits as a text', (t) => {
  const attributes = [
    { key: 'safe', value: { intValue: '9007199254740991' } },
    { key: 'large', value: { intValue: '9007199254740993' } },
    { key: 'plain', value: { intValue: 5 } },
    { key: 'nan', value: { doubleValue: 'NaN' } },
    { key: 'bytes', value: { bytesValue: '+/8B' } },
  ]
  const { mapped, losses } = only(requestOf([{ ...otlpSpan(), attributes }]))
  t.strictSame(losses, [])
  const { safe, large, plain, nan, bytes } = mapped.span['attributes'] as Members
  t.strictSame([safe, large, plain], [9007199254740991, '9007199254740993', 5])
  t.strictSame([nan, bytes], ['NaN', '+/8B'])
  t.end()
})

t.test('an attribute by the name of one of ours stays beside it', (t) => {
  const attributes = { resource: 'mine', scope: 'too', 'otel.kind': 'x' }
  const { mapped } = only(requestOf([otlpSpan({ attributes })], { resource: { a: 'b' } }))
  t.match(mapped.span['attributes'], {
    resource: { a: 'b' },
    'attribute.resource': 'mine',
    'attribute.scope': 'too',
    'attribute.otel.kind': 'x',
  })
  t.end()
})

t.test('members by the names of inherited ones are members like others', (t) => {
  const attributes = keyValues(
    JSON.parse('{"__proto__":"p","constructor":"c","toString":"t"}') as Members,
  )
  const { mapped } = only(requestOf([{ ...otlpSpan(), attributes }]))
  t.strictSame(Object.entries(mapped.span['attributes'] as Members).slice(0, 3), [
    ['__proto__', 'p'],
    ['constructor', 'c'],
    ['toString', 't'],
  ])
  t.end()
})

t.test('of a large resource the largest attributes are left out, once a request a loss', (t) => {
  const resource = { 'service.name': 'demo', large: 'x'.repeat(5000), project: 'my-project' }
  const [first, second] = taken(requestOf([otlpSpan(), CHAT], { resource })) as [
    TakenSpan,
    TakenSpan,
  ]
  t.strictSame((first.mapped.span['attributes'] as Members)['resource'], {
    'service.name': 'demo',
    project: 'my-project',
  })
  t.strictSame(first.losses, [
    {
      code: 'members_dropped',
      message: '1 attributes of the resource were left out because they are large',
    },
  ])
  t.strictSame(second.losses, [])
  t.equal(first.project, 'my-project')
  t.end()
})

t.test('a span failed where its status, the type of an error or its level says so', (t) => {
  const statusOf = (members: Members) => only(requestOf([otlpSpan(members)])).mapped.span['status']
  t.equal(statusOf({}), 'success')
  t.equal(statusOf({ status: { code: 0 } }), 'success')
  t.equal(statusOf({ status: { code: 2 } }), 'error')
  t.equal(statusOf({ status: { code: 'STATUS_CODE_ERROR' } }), 'error')
  t.equal(statusOf({ attributes: { 'error.type': 'timeout' } }), 'error')
  t.equal(statusOf({ attributes: { 'error.type': 'timeout' }, status: { code: 1 } }), 'success')
  t.equal(statusOf({ attributes: { 'langfuse.observation.level': 'ERROR' } }), 'error')
  t.end()
})

t.test('spans are mapped only when they are asked for', (t) => {
  const { length } = [...spansOfRequest(requestOf(Array(10_000).fill(CHAT)))]
  t.equal(length, 10_000)
  const trap = Object.defineProperty(otlpSpan(), 'name', {
    get: () => {
      throw new Error('asked for')
    },
  })
  const spans = spansOfRequest(requestOf([CHAT, trap]))
  t.notOk('rejected' in (spans.next().value as object))
  t.throws(() => spans.next(), /asked for/)
  t.end()
})

t.test('a request changed anywhere is read or rejected by a reason, without an error', (t) => {
  const request = requestOf([FAILED, CHAT], { resource: { a: 'b' } })
  const paths = pathsIn(request)
  const junk = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(undefined, -1, 1e308, '\u0000', '0'.repeat(300)),
  )
  const edits = fc.array(fc.tuple(fc.constantFrom(...paths), junk), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(edits, (changes) => {
      const changed = structuredClone(request)
      for (const [path, value] of changes) setAt(changed, path, value)
      for (const span of spansOfRequest(changed)) {
        if ('rejected' in span) {
          if (!/^resourceSpans[\w.]* must /.test(span.rejected)) return false
        } else {
          if (!/^[0-9a-f]{16}$/.test(String(span.mapped.span['id']))) return false
          JSON.stringify(span)
        }
      }
      return true
    }),
    { numRuns: RUNS },
  )
  t.end()
})

function only(request: Members): TakenSpan {
  const [span, ...others] = taken(request)
  if (!span || others.length > 0) throw new Error('one span is expected')
  return span
}

function taken(request: Members): TakenSpan[] {
  return [...spansOfRequest(request)].filter(
    (span: TakenSpan | RejectedSpan): span is TakenSpan => !('rejected' in span),
  )
}

/** As protobuf names the members. */
function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      inSnakeCase(member),
    ]),
  )
}

function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, member]) => pathsIn(member, [...path, name]))
      : []
  return path.length > 0 ? [path, ...inner] : inner
}

/** Sets what is still there. */
function setAt(root: Members, path: readonly string[], value: unknown) {
  let parent: unknown = root
  for (const name of path.slice(0, -1)) {
    parent = typeof parent === 'object' && parent !== null ? (parent as Members)[name] : undefined
  }
  if (typeof parent === 'object' && parent !== null) (parent as Members)[path.at(-1) ?? ''] = value
}
