import { readFileSync } from 'node:fs'
import t from 'tap'
import { isObject } from '../../../../../jobs/rules/core/reader.ts'
import type { Assembled, Members, Part } from '../../../../../jobs/rules/import/format.ts'
import { langfuse } from '../../../../../jobs/rules/import/langfuse/langfuse.ts'
import { readTrace } from '../../../../../jobs/rules/traces/read-trace.ts'
import fc from '../../../../support/property.ts'

const SHAPES = {
  'a download': 'langfuse-trace.json',
  'an export of the UI': 'langfuse-ui-export.jsonl',
  'an export to blob storage': 'langfuse-blob-export.jsonl',
  'pages of the API': 'langfuse-api-pages.jsonl',
  'ingestion events': 'langfuse-ingestion.json',
}
/** What all fixtures tell. */
const CALL = {
  id: 'call_p17',
  type: 'function',
  function: { name: 'find_parcel', arguments: '{"parcel":17}' },
}
const RESULT = { role: 'tool', tool_call_id: 'call_p17', content: '{"place":"Utrecht"}' }
const ANSWER = { role: 'assistant', content: 'It is in Utrecht.' }
const FIRST_CALL = {
  model_name: 'gpt-4o-mini',
  rendered_input: [
    { role: 'system', content: 'Answer about parcels.' },
    { role: 'user', content: 'Where is parcel 17?' },
  ],
  output: { role: 'assistant', tool_calls: [CALL] },
  tools: [{ type: 'function', function: { name: 'find_parcel', description: 'Finds a parcel' } }],
  temperature: 0.2,
  max_output_tokens: 256,
  input_tokens: 48,
  output_tokens: 15,
  usage: { input_cached_tokens: 8, output_reasoning: 3, total: 63 },
  cost_usd: 0.0004,
  latency_ms: 1000,
  status: 'success',
}
const TOOL = {
  'gen_ai.tool.name': 'find_parcel',
  'gen_ai.tool.call.id': 'call_p17',
  'gen_ai.tool.call.arguments': { parcel: 17 },
  'gen_ai.tool.call.result': { place: 'Utrecht' },
}
const TOLD = {
  session_id: 'sess-9',
  user_id: 'user-4',
  environment: 'staging',
  release: 'r7',
  tags: ['parcels', 'nl'],
  manifest_id: 'parcel-desk-3',
  metadata: { region: 'eu' },
  user_input_preview: '{"question":"Where is parcel 17?"}',
  final_output_preview: 'It is in Utrecht.',
}
const CORRECTION = {
  id: 'co-1',
  corrected_output: 'It is in Utrecht, since Monday.',
  created_at: '2026-03-01T11:00:00.000Z',
}
const runs = Number(process.env['FC_RUNS'] ?? 300)

t.test('each shape tells the same spans, calls and messages', async (t) => {
  for (const [shape, file] of Object.entries(SHAPES)) {
    const { spans } = assembled(file)
    t.same(
      spans.map(({ span }) => span['id']),
      ['obs-call-1', 'obs-call-2', 'obs-root', 'obs-tool'],
      shape,
    )
    const [first, second, root, tool] = spans
    t.match(first?.call, FIRST_CALL, shape)
    t.same(
      Object.keys(first?.span['attributes'] as Members).filter((name) => name.endsWith('put')),
      [],
      shape,
    )
    t.match(
      second?.call,
      { rendered_input: { length: 4 }, output: ANSWER, cost_usd: 0.0006 },
      shape,
    )
    t.match(second?.call?.['rendered_input'], [{}, {}, { tool_calls: [CALL] }, RESULT], shape)
    t.match(
      second?.span,
      { status: 'error', attributes: { 'status.message': 'stream broke off once' } },
      shape,
    )
    t.match(
      root?.span,
      { span_type: 'agent', parent_span_id: null, output_preview: 'It is in Utrecht.' },
      shape,
    )
    t.equal(root?.call, null, shape)
    t.match(tool?.span, { span_type: 'tool', parent_span_id: 'obs-root', attributes: TOOL }, shape)
  }
})

t.test('a trace tells its session, user, tags, release and whereabouts', async (t) => {
  for (const shape of ['a download', 'an export to blob storage', 'ingestion events'] as const) {
    const { told, origin } = assembled(SHAPES[shape])
    t.match(told, TOLD, shape)
    t.match(origin, { name: 'parcel-desk', version: '1.2.0', public: false }, shape)
  }
  const { told, origin, spans } = assembled(SHAPES['pages of the API'])
  t.same(told, {}, 'pages have no trace')
  t.equal(origin['project_id'], 'prj-parcels')
  t.match(spans[2]?.span['attributes'], {
    'session.id': 'sess-9',
    'user.id': 'user-4',
    'service.version': 'r7',
    'deployment.environment.name': 'staging',
    'tag.tags': ['parcels', 'nl'],
  })
})

t.test(
  'scores keep who gave them, what they are about and values that are no shares',
  async (t) => {
    for (const shape of ['a download', 'an export to blob storage', 'pages of the API'] as const) {
      const { scores, corrections, losses } = assembled(SHAPES[shape])
      const [helpful, stars, polite, tone, note] = scores
      t.equal(scores.length, 5, shape)
      t.match(
        helpful,
        { name: 'helpful', value: 0.8, source: 'external', reason: 'Says where it is.' },
        shape,
      )
      t.match(helpful, { identifier: 'sc-1', source_label: 'langfuse', span_id: null }, shape)
      t.match(stars, {
        value: null,
        data_type: 'text',
        label: '4',
        source: 'human',
        metadata: { original_value: 4 },
      })
      t.match(polite, { value: true, data_type: 'boolean' }, shape)
      t.match(
        tone,
        { value: null, label: 'friendly', span_id: 'obs-call-2', source: 'human' },
        shape,
      )
      t.match(note, { label: 'Could name the day.' }, shape)
      t.same(corrections, [CORRECTION], shape)
      t.same(losses, [], shape)
    }
  },
)

t.test('columns of exported rows are scores, as many as they have values', async (t) => {
  const { scores } = assembled(SHAPES['an export of the UI'])
  t.match(scores, [
    { name: 'helpful', value: 0.8, span_id: null },
    { name: 'stars', label: '4', span_id: null },
    { name: 'tone', label: 'friendly', span_id: 'obs-call-2' },
    { name: 'tone', label: 'curt', span_id: 'obs-call-2' },
  ])
  t.equal(new Set(scores.map((each) => JSON.stringify([each['name'], each['identifier']]))).size, 4)
})

t.test('rows of a table, whose cells are all texts, say the same', async (t) => {
  const rows = records(SHAPES['an export of the UI'])
  const cells = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : cellOf(value),
      ]),
    ),
  )
  const [read, written] = [assemble(rows), assemble(cells)]
  t.same(
    written.spans.map(({ call }) => call),
    read.spans.map(({ call }) => call),
  )
  t.same(written.scores, read.scores)
  const values = written.spans.flatMap(({ span }) => Object.values(span['attributes'] as Members))
  t.notOk(values.includes(''), 'an empty cell is nothing')
  t.match(written.told, {
    tags: ['parcels', 'nl'],
    session_id: 'sess-9',
    metadata: { region: 'eu' },
  })
})

t.test('events add to each other by time, and what they do not say stays', async (t) => {
  const about = { id: 'o', traceId: 'trace-1' }
  const [span] = assemble([
    event('span-update', '2026-03-01T10:00:02Z', { ...about, name: null, metadata: { b: 2 } }),
    event('span-update', '2026-03-01T10:00:01.5Z', { ...about, name: 'second', level: 'ERROR' }),
    event('span-create', '2026-03-01T10:00:01Z', { ...about, name: 'first', metadata: { a: 1 } }),
  ]).spans
  t.match(span?.span, { name: 'second', status: 'error' })
  t.match(span?.span['attributes'], { 'langfuse.observation.metadata': { a: 1, b: 2 } })
})

t.test('plain spans are tools and agents where their instrumentation says so', async (t) => {
  const row = { id: 'o', traceId: 'trace-1', type: 'SPAN', name: 'step' }
  const reported = (attributes: Members) => ({ ...row, metadata: JSON.stringify({ attributes }) })
  const typeOf = (given: Members) => assemble([given]).spans[0]?.span['span_type']
  t.equal(typeOf(row), 'other')
  t.equal(typeOf(reported({ 'gen_ai.operation.name': 'invoke_agent' })), 'agent')
  t.equal(typeOf(reported({ 'openinference.span.kind': 'TOOL' })), 'tool')
  const output = { type: 'tool', name: 'find', content: 'found', tool_call_id: 'c1' }
  const [span] = assemble([{ ...row, input: { q: 1 }, output }]).spans
  t.equal(span?.span['span_type'], 'tool')
  t.match(span?.span['attributes'], {
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.call.arguments': { q: 1 },
    'gen_ai.tool.call.result': 'found',
  })
})

t.test('what came by OpenTelemetry is the same, however its objects are written', async (t) => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'find',
    'gen_ai.tool.call.id': 'c1',
    'user.id': 'user-4',
    'app.manifest_id': 'm-1',
  }
  const sent = { attributes, scope: { name: 'ai' }, resourceAttributes: { 'service.name': 'desk' } }
  const told = { ...sent, region: 'eu' }
  const texts = Object.entries(sent).map(([name, value]) => [name, JSON.stringify(value)])
  const flat = Object.entries(sent).flatMap(([name, value]) =>
    Object.entries(value).map(([key, each]) => [`${name}.${key}`, each]),
  )
  const spanOf = (metadata: unknown) =>
    assemble([{ id: 'o', traceId: 'trace-1', type: 'SPAN', name: 'step', metadata }]).spans[0]?.span
  const span = spanOf(told)
  t.match(span, {
    span_type: 'tool',
    attributes: {
      'gen_ai.tool.name': 'find',
      'gen_ai.tool.call.id': 'c1',
      'user.id': 'user-4',
      'app.manifest_id': 'm-1',
      scope: { name: 'ai' },
      resource: { 'service.name': 'desk' },
      'langfuse.observation.metadata': { region: 'eu', attributes },
    },
  })
  for (const members of [texts, flat]) {
    const metadata = { ...Object.fromEntries(members), region: 'eu' } as Members
    t.same(spanOf(metadata), span)
    t.same(spanOf(JSON.stringify(metadata)), span)
  }
  t.match(spanOf({ scope: 'billing', 'scope.name': 'ai' })?.['attributes'], {
    'langfuse.observation.metadata': { scope: 'billing', 'scope.name': 'ai' },
  })
  const call = { id: 'o', traceId: 'trace-1', type: 'GENERATION' }
  const metadata = { 'attributes.gen_ai.provider.name': 'openai' }
  t.match(assemble([{ ...call, metadata }]).spans, [{ call: { provider: 'openai' } }])
})

t.test('a trace without a row tells what its root observation says of it', async (t) => {
  const root = {
    id: 'o',
    trace_id: 'trace-1',
    type: 'AGENT',
    name: 'step',
    trace_name: 'parcels',
    metadata: { agent_name: 'desk', task_id: 'task-7', region: 'eu', 'attributes.a': 1 },
  }
  const child = {
    id: 'c',
    traceId: 'trace-1',
    type: 'SPAN',
    parentObservationId: 'o',
    metadata: { agent_name: 'other' },
  }
  const { told, origin, losses } = assemble([child, root])
  const metadata = { agent_name: 'desk', task_id: 'task-7', region: 'eu' }
  t.same([told, losses], [{ agent_name: 'desk', task_id: 'task-7', metadata }, []])
  t.match(origin, { name: 'parcels' })
  const row = { id: 'trace-1', bookmarked: false, timestamp: '2026-03-01T10:00:00Z' }
  t.same(assemble([row, child, root]).told, {}, 'a row says all there is')
  t.same(assemble([child]).told, {})
  const large = { ...root, metadata: { agent_name: 'desk', text: 'x'.repeat(20_000) } }
  t.match(assemble([large]), { told: { agent_name: 'desk' }, losses: [] })
})

t.test('a correction of one step is a score of that step', async (t) => {
  const row = {
    id: 'c',
    name: 'output',
    dataType: 'CORRECTION',
    value: 'Better',
    source: 'ANNOTATION',
  }
  const subject = { kind: 'observation', id: 'o', traceId: 'trace-1' }
  const { corrections, scores } = assemble([{ ...row, subject }])
  t.same(corrections, [])
  t.match(scores, [{ span_id: 'o', label: 'Better', source: 'human' }])
})

t.test('characters are no tokens', async (t) => {
  const usage = { unit: 'CHARACTERS', input: 100, output: 20 }
  const row = { id: 'o', traceId: 'trace-1', type: 'GENERATION', usage }
  const [span] = assemble([row]).spans
  t.match(span, {
    call: { input_tokens: null, output_tokens: null },
    span: { attributes: { usage } },
  })
})

t.test('a score of a session is a loss, and a session is no trace', async (t) => {
  const read = records(SHAPES['an export to blob storage']).map((record) => langfuse.read(record))
  const losses = read.flatMap((each) => ('losses' in each ? each.losses : []))
  t.same(
    losses.map(({ code }) => code),
    ['score_without_trace'],
  )
  const session = {
    id: 's',
    bookmarked: false,
    public: false,
    countTraces: 3,
    createdAt: '2026-03-01',
  }
  t.ok(langfuse.matches(session))
  t.match(langfuse.read(session), { code: 'invalid_record', message: /session/ })
})

t.test(
  'of several things in one record the faulty one is a loss, and alone it is refused',
  async (t) => {
    const [row] = records(SHAPES['pages of the API']).flatMap(({ data }) => data as Members[])
    const faulty = { ...row, traceId: '' }
    t.match(langfuse.read(faulty), { code: 'invalid_record', message: /traceId/ })
    const page = langfuse.read({ data: [row, faulty], meta: {} })
    t.match(page, {
      parts: { length: 1 },
      losses: [{ code: 'member_invalid', message: /traceId/ }],
    })
    t.match(langfuse.read({ batch: [{ type: 'span-update', body: { id: 'a' } }] }), {
      message: /body\.traceId/,
    })
    const log = { id: 'e1', type: 'sdk-log', timestamp: '2026-03-01T10:00:00Z', body: { log: {} } }
    const batch = [log, event('trace-create', '2026-03-01T10:00:00Z', { id: 't' })]
    t.match(langfuse.read({ batch }), {
      parts: [{ kind: 'trace', trace_id: 't' }],
      losses: [{ code: 'member_invalid', message: /Only traces, observations and scores/ }],
    })
  },
)

t.test(
  'what is not of its type is a loss or stays, and large metadata is left out by name',
  async (t) => {
    const trace = { id: 'trace-1', bookmarked: false, timestamp: 'soon', tags: ['fine', ''] }
    const large = {
      ...trace,
      metadata: { small: 1, large: 'x'.repeat(20_000) },
      comments: [{ content: 'See' }],
    }
    const { told, losses } = assemble([large])
    t.same(told, { tags: ['fine'], metadata: { small: 1 } })
    t.same(losses.map(({ code }) => code).sort(), [
      'comment_dropped',
      'member_invalid',
      'members_dropped',
      'time_invalid',
    ])
    const observation = {
      id: 'o',
      traceId: 'trace-1',
      type: 'GENERATION',
      startTime: 7,
      usage: 'many',
    }
    const [span] = assemble([observation]).spans
    t.match(span, { span: { started_at: null, attributes: { usage: 'many', startTime: 7 } } })
  },
)

t.test('the order of parts, and parts that come twice, change nothing', async () => {
  const files = Object.values(SHAPES).map((file) => partsOf(records(file)))
  const orders = fc.constantFrom(...files).chain((parts) =>
    fc.record({
      parts: fc.constant(parts),
      order: fc.shuffledSubarray([...parts, ...parts], { minLength: parts.length * 2 }),
    }),
  )
  fc.assert(
    fc.property(orders, ({ parts, order }) => {
      const [plain, mixed] = [langfuse.assemble(parts), langfuse.assemble(order)]
      return JSON.stringify(mixed) === JSON.stringify(plain)
    }),
    { numRuns: Math.min(runs, 100) },
  )
})

t.test('whatever members hold, what is made of them passes the check of traces', async () => {
  const all = Object.values(SHAPES).flatMap(records)
  const names = [...new Set(all.flatMap(namesIn))]
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('NaN', '{"a":', '[]', -1, 1e300),
  )
  const changes = fc.array(fc.tuple(fc.constantFrom(...names, '__proto__', 'constructor'), odd), {
    maxLength: 6,
  })
  fc.assert(
    fc.property(fc.constantFrom(...all), changes, (record, changed) => {
      const changedRecord = changedBy(record, new Map(changed)) as Members
      const read = langfuse.read(changedRecord)
      if ('code' in read) return read.message !== ''
      return isTaken(langfuse.assemble(read.parts))
    }),
    { numRuns: runs },
  )
})

t.test('what a trace was given is kept where nothing else says it whole', async (t) => {
  const input = { question: 'Where is parcel 17?' }
  const trace = {
    id: 't',
    bookmarked: false,
    timestamp: '2026-03-01T10:00:00Z',
    input,
    output: 'In Graz.',
  }
  const root = { id: 'o', traceId: 't', type: 'SPAN', input: JSON.stringify(input) }
  t.same(assemble([trace]).origin['input'], input)
  t.notOk('output' in assemble([trace]).origin, 'the preview is as long as the text')
  t.notOk('input' in assemble([trace, root]).origin)
  t.same(assemble([trace, { ...root, parentObservationId: 'p' }]).origin['input'], input)
  const { origin, losses, told } = assemble([{ ...trace, output: 'x'.repeat(20_000) }])
  t.notOk('output' in origin)
  t.match(losses, [{ code: 'members_dropped', message: /^The trace's output was left out/ }])
  t.equal(told['final_output_preview'], 'x'.repeat(2000))
})

function isTaken({ told, spans, losses }: Assembled) {
  const trace = {
    ...told,
    spans: spans.map(({ span }) => span),
    llm_calls: spans.flatMap(({ call }) => call ?? []),
  }
  const read = readTrace(trace, { traceId: () => 'trace-1', now: new Date(0) })
  return 'trace' in read && losses.every(({ message }) => message !== '')
}

function assembled(file: string): Assembled {
  return assemble(records(file))
}

function assemble(rows: readonly Members[]): Assembled {
  return langfuse.assemble(partsOf(rows))
}

function partsOf(rows: readonly Members[]): Part[] {
  return rows.flatMap((row) => {
    const read = langfuse.read(row)
    if ('code' in read) throw new Error(read.message)
    return read.parts
  })
}

function records(file: string): Members[] {
  const text = readFileSync(`test/samples/${file}`, 'utf8')
  const read = file.endsWith('l')
    ? text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Members)
    : [JSON.parse(text) as Members]
  if (!read.every((record) => langfuse.matches(record)))
    throw new Error(`${file} is not recognised`)
  return read
}

function event(type: string, timestamp: string, body: Members): Members {
  return { id: `${type} ${timestamp}`, type, timestamp, body }
}

function cellOf(value: unknown) {
  return value === null ? '' : JSON.stringify(value)
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return isObject(value)
    ? Object.entries(value).flatMap(([name, each]) => [name, ...namesIn(each)])
    : []
}

/** A record with other values for some names, wherever they are in it. */
function changedBy(value: unknown, changed: ReadonlyMap<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => changedBy(each, changed))
  if (!isObject(value)) return value
  const members = [
    ...Object.entries(value),
    ...(changed.has('__proto__') ? [['__proto__', 1] as const] : []),
  ]
  return Object.fromEntries(
    members.map(([name, each]) => [
      name,
      changed.has(name) ? changed.get(name) : changedBy(each, changed),
    ]),
  )
}
