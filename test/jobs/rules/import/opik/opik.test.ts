import t from 'tap'
import type { Assembled, Members, Part } from '../../../../../jobs/rules/import/format.ts'
import { opik } from '../../../../../jobs/rules/import/opik/opik.ts'
import { readMappedSpan } from '../../../../../jobs/rules/import/spans/span-trace.ts'
import { listUnkept } from '../../../../support/kept-members.ts'
import fc from '../../../../support/property.ts'

const TRACE = '01900000-0000-7000-8000-000000000001'
const SPAN = '01900000-0000-7000-8000-000000000002'

const trace = {
  id: TRACE,
  project_name: 'shop',
  name: 'answer',
  start_time: '2026-03-01T10:15:00.000Z',
  end_time: '2026-03-01T10:15:05.000Z',
  input: { question: 'Where?' },
  output: { answer: 'Graz' },
  metadata: { tier: 'gold', user_id: 'ann' },
  tags: ['beta'],
  thread_id: 'thread-4',
}
const span = {
  id: SPAN,
  trace_id: TRACE,
  project_name: 'shop',
  name: 'chat',
  type: 'llm',
  start_time: '2026-03-01T10:15:01Z',
  end_time: '2026-03-01T10:15:02Z',
  input: { messages: [{ role: 'user', content: 'Where?' }] },
  output: { choices: [{ message: { role: 'assistant', content: 'Graz' }, finish_reason: 'stop' }] },
  metadata: { temperature: 0.5, created_from: 'openai' },
  model: 'gpt-4o',
  provider: 'openai',
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  total_estimated_cost: 0.001,
  tags: ['slow'],
}

/** Scores that name no trace are of the only one. */
function assembled(...records: Members[]): Assembled {
  const parts = records.flatMap((record): readonly Part[] => {
    const read = opik.read(record)
    if ('code' in read) throw new Error(read.message)
    const scores = read.spanScores ?? []
    return [...read.parts, ...scores.map((score) => ({ ...score, trace_id: TRACE }))]
  })
  return opik.assemble(parts)
}

/** Whether nothing of a span is lost when it is checked. */
function isWhole(span: Assembled['spans'][number]) {
  const read = readMappedSpan(span)
  return 'span' in read && read.losses.length === 0
}

t.test('traces of Opik', async (t) => {
  t.test('are known by their project and what they tell', async (t) => {
    const { thread_id: _, ...bare } = trace
    const read = { ...bare, project_name: null, project_id: TRACE }
    for (const record of [trace, span, bare, read, { scores: [{ id: TRACE, name: 'a' }] }]) {
      t.ok(opik.matches(record))
    }
    const others = [
      { project_name: 'x' },
      { trace_id: 'x', project_id: 'clu3k', start_time: '', type: 'SPAN' },
      { scores: [{ name: 'a', value: 1 }] },
      { scores: [{ id: TRACE, name: 'a' }], agent_name: 'own' },
    ]
    for (const record of others) t.notOk(opik.matches(record))
  })

  t.test('are the span above their spans', async (t) => {
    const { spans, losses, origin } = assembled(trace, span)
    t.same([losses, origin], [[], { project_id: 'shop' }])
    t.match(spans, [
      {
        call: null,
        span: {
          id: TRACE,
          parent_span_id: null,
          name: 'answer',
          attributes: {
            'session.id': 'thread-4',
            'user.id': 'ann',
            'tag.tags': ['beta'],
            metadata: { tier: 'gold' },
            input: { question: 'Where?' },
            output: { answer: 'Graz' },
          },
        },
      },
      {
        span: {
          id: SPAN,
          parent_span_id: TRACE,
          span_type: 'llm',
          attributes: { tags: ['slow'], 'opik.metadata': { created_from: 'openai' } },
        },
        call: {
          model_name: 'gpt-4o',
          provider: 'openai',
          temperature: 0.5,
          rendered_input: [{ role: 'user', content: 'Where?' }],
          output: { content: 'Graz' },
          finish_reason: 'stop',
          input_tokens: 3,
          output_tokens: 2,
          usage: { total_tokens: 5 },
          cost_usd: 0.001,
        },
      },
    ])
  })

  t.test('without spans keep their conversation as a call', async (t) => {
    const { thread_id: _, ...bare } = trace
    const talk = { ...bare, input: span.input, output: span.output }
    t.match(assembled(talk).spans, [{ call: { output: { content: 'Graz' } } }])
    t.match(assembled({ ...talk, id: TRACE }, span).spans, [{ call: null }, {}])
    t.match(assembled(bare).spans, [{ call: null, span: { id: TRACE } }])
  })

  t.test('and their inputs may be no objects', async (t) => {
    const { spans } = assembled({ ...trace, input: 'Where?', output: ['Graz', 'Linz'] })
    t.match(spans[0], {
      call: { rendered_input: [{ role: 'user', content: 'Where?' }] },
      span: { attributes: { output: ['Graz', 'Linz'] } },
    })
  })

  t.test('that failed say why', async (t) => {
    const error_info = { exception_type: 'KeyError', message: 'no parcel', traceback: 'at x' }
    t.match(assembled({ ...trace, error_info }).spans[0]?.span, {
      status: 'error',
      attributes: {
        'exception.type': 'KeyError',
        'exception.message': 'no parcel',
        'exception.stacktrace': 'at x',
      },
    })
  })

  t.test('and spans told again are told by the later record', async (t) => {
    const first = { ...trace, end_time: null, output: null }
    t.match(assembled(trace, first), assembled(trace))
    const updated = { ...first, name: 'renamed', last_updated_at: '2026-03-05T00:00:00Z' }
    t.match(assembled(updated, trace).spans[0]?.span, {
      name: 'renamed',
      ended_at: '2026-03-01T10:15:05.000Z',
    })
  })

  t.test('of a tool tell its call', async (t) => {
    const tool = { ...span, type: 'tool', input: { city: 'Graz' }, output: { output: 'sunny' } }
    const [, read] = assembled(trace, tool).spans
    t.equal(read?.call, null)
    t.match(read?.span, {
      span_type: 'tool',
      attributes: {
        'gen_ai.tool.name': 'chat',
        'gen_ai.tool.call.arguments': { city: 'Graz' },
        'gen_ai.tool.call.result': 'sunny',
      },
    })
  })

  t.test('whose members are of other types keep them', async (t) => {
    const odd = { error_info: 'broke', metadata: 'none', tags: 'beta' }
    t.match(assembled({ ...trace, ...odd }).spans, [{ span: { status: 'error', attributes: odd } }])
    t.match(assembled({ ...span, ...odd, metadata: ['none'] }).spans, [
      { span: { status: 'error', attributes: { error_info: 'broke', metadata: ['none'] } } },
    ])
  })

  t.test('and files of opik export hold one with its spans', async (t) => {
    const { project_name, ...bare } = trace
    const { trace_id: _, ...child } = span
    const feedback_scores = [{ name: 'quality', value: 0.9, source: 'sdk' }]
    const file = {
      trace: { ...bare, feedback_scores },
      spans: [span],
      attachments: [],
      downloaded_at: '2026-03-02T00:00:00',
      project_name,
    }
    t.ok(opik.matches(file))
    t.same(assembled(file), assembled({ ...trace, feedback_scores }, span))
    t.same(assembled({ ...file, spans: [child] }).spans, assembled(file).spans)
    t.match(opik.read({ ...file, spans: [7, { ...span, id: null }], attachments: [{}] }), {
      parts: [{ kind: 'trace' }, { kind: 'score' }],
      losses: [
        { code: 'member_invalid', message: /^spans\.0: / },
        { code: 'member_invalid', message: /^spans\.1: / },
        { code: 'attachment_dropped' },
      ],
    })
    t.match(opik.read({ ...file, trace: { ...bare, id: '' } }), { code: 'invalid_record' })
    t.notOk(opik.matches({ trace: { trace_id: 't' }, spans: [] }))
  })

  t.test('without an id are refused', async (t) => {
    t.match(opik.read({ ...trace, id: null }), { code: 'invalid_record' })
    t.match(opik.read({ ...span, trace_id: { a: 1 } }), { code: 'invalid_record' })
  })
})

t.test('feedback scores of Opik', async (t) => {
  const pushed = { id: TRACE, name: 'quality', value: 0.9, reason: 'fine', source: 'sdk' }

  t.test('are scores however they come', async (t) => {
    const { id: _, ...inside } = pushed
    const body = assembled(trace, { scores: [pushed] })
    const inline = assembled({ ...trace, feedback_scores: [inside] })
    t.match(body.scores, [
      { name: 'quality', value: 0.9, reason: 'fine', source: 'external', source_label: 'opik' },
    ])
    t.same(inline.scores, body.scores)
    const earlier = { scores: [{ ...pushed, value: 0.1 }] }
    const both = assembled({ ...trace, feedback_scores: [inside] }, earlier)
    t.same(both.scores, inline.scores, 'and of one that comes both ways the trace has the last')
  })

  t.test('are parts of their own, because a known trace takes nothing else', async (t) => {
    const tone = { name: 'tone', value: 1, last_updated_at: '2026-03-02T00:00:00Z' }
    const read = opik.read({ ...span, feedback_scores: [pushed, tone] })
    if ('code' in read) throw new Error(read.message)
    t.same(
      read.parts.map(({ kind, trace_id }) => [kind, trace_id]),
      [
        ['span', TRACE],
        ['score', TRACE],
        ['score', TRACE],
      ],
    )
    const scores = read.parts.filter(({ kind }) => kind === 'score')
    t.match(opik.assemble(scores), { spans: [], losses: [] })
    t.same(opik.assemble(scores).scores, opik.assemble(read.parts).scores, 'each of them once')
    t.same(
      opik.assemble(scores).scores.map(({ name, span_id }) => [name, span_id]),
      [
        ['tone', SPAN],
        ['quality', SPAN],
      ],
    )
    const changed = opik.read({ ...span, feedback_scores: [{ ...tone, value: 0 }] })
    const earlier = 'code' in changed ? [] : changed.parts
    t.equal(opik.assemble([...scores, ...earlier]).scores.length, 2, 'and of one name one')
  })

  t.test('are not counted without bound', async (t) => {
    const feedback_scores = Array.from({ length: 100_001 }, () => 1)
    t.match(opik.read({ ...trace, feedback_scores }), { code: 'too_many_scores' })
  })

  t.test('of spans name their span, those of people are human', async (t) => {
    const scores = [{ name: 'tone', value: 1, category_name: 'kind', source: 'ui' }]
    const read = assembled(trace, { ...span, feedback_scores: scores })
    t.match(read.scores, [{ span_id: SPAN, label: 'kind', source: 'human' }])
  })

  t.test('of several people are those of each of them', async (t) => {
    const value_by_author = { ann: { value: 1 }, bob: { value: 0, reason: 'no' } }
    const scores = [{ name: 'tone', value: 0.5, source: 'ui', value_by_author }]
    const read = assembled({ ...trace, feedback_scores: scores })
    t.match(read.scores, [
      { value: 1, metadata: { author: 'ann' } },
      { value: 0, reason: 'no', metadata: { author: 'bob' } },
    ])
    t.not(read.scores[0]?.['identifier'], read.scores[1]?.['identifier'])
  })

  t.test('name a trace or a span, and those that name nothing are counted', async (t) => {
    const named = { ...pushed, id: SPAN, trace_id: TRACE }
    t.match(opik.read({ scores: [pushed, { name: 'x' }, named, 5] }), {
      parts: [{ trace_id: TRACE, kind: 'score' }],
      spanScores: [{ trace_id: null, span_id: TRACE, kind: 'score' }],
      losses: [{ message: 'scores.1 names no trace and no span (id)' }, {}],
    })
  })

  t.test('that were pushed for a span are of it', async (t) => {
    const { scores } = assembled(trace, span, { scores: [{ ...pushed, id: SPAN }] })
    t.match(scores, [{ name: 'quality', span_id: SPAN }])
  })
})

t.test('the order of records, and records that come twice, change nothing', async () => {
  const records = [
    trace,
    { ...trace, end_time: null, tags: ['other'] },
    span,
    { ...span, id: '01900000-0000-7000-8000-000000000003', type: 'tool' },
    { scores: [{ id: TRACE, name: 'b', value: 1 }] },
    { scores: [{ id: TRACE, name: 'a', value: 0 }] },
  ]
  const expected = JSON.stringify(assembled(...records))
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...records, ...records], { minLength: 2 * records.length }),
      (shuffled: Members[]) => JSON.stringify(assembled(...shuffled)) === expected,
    ),
  )
})

t.test('no value of any member breaks the reading', async () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.constant('{"a":[1,{"b":null}]}'),
  )
  const names = [...new Set([trace, span].flatMap((each) => Object.keys(each)))]
  fc.assert(
    fc.property(
      fc.constantFrom<Members>(trace, span),
      fc.dictionary(fc.constantFrom(...names, '__proto__', 'feedback_scores', 'error_info'), value),
      (record, members) => {
        const ids = { id: record['id'], trace_id: record['trace_id'] }
        const { spans } = assembled({ ...record, ...members, ...ids })
        return spans.length === 1 && spans.every(isWhole)
      },
    ),
  )
})

t.test('a member of another type is kept, or a loss', async (t) => {
  const read = (record: Members) => {
    const { losses, ...made } = assembled(record)
    return { made, losses }
  }
  for (const each of [trace, span, { ...span, type: 'tool' }]) {
    const record = { ...each, error_info: null, feedback_scores: [], project_id: null }
    t.same(listUnkept(record, read, ['id', 'trace_id']), [])
  }
  const score = { name: 'tone', value: 1, source: 'sdk', reason: '', value_by_author: {} }
  const scored = (each: Members) => read({ ...trace, feedback_scores: [each] })
  t.same(listUnkept(score, scored, []), [])
})
