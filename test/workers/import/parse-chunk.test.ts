import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { encodeChunk, openChunkEncoder } from '../../../workers/import/encode-chunk.ts'
import type { ImportSettings } from '../../../workers/import/encode-chunk.ts'
import { parseChunk } from '../../../workers/import/parse-chunk.ts'
import fc from '../../support/property.ts'

const SETTINGS: ImportSettings = {
  orgId: randomUUIDv7(),
  projectId: randomUUIDv7(),
  format: null,
  agentName: null,
  now: new Date(0),
  dryRun: false,
  importId: randomUUIDv7(),
  createdBy: randomUUIDv7(),
  contentForm: 'shared',
}

function chunkOf(records: readonly (string | Buffer)[]) {
  const buffers = records.map((record) => Buffer.from(record as string))
  const ends: number[] = []
  for (const { length } of buffers) ends.push((ends.at(-1) ?? 0) + length)
  return {
    bytes: new Uint8Array(Buffer.concat(buffers)),
    ends,
    lines: records.map((_, i) => i + 1),
  }
}

function work(records: readonly (string | Buffer)[], known: string[] = [], settings = SETTINGS) {
  const parsed = parseChunk(chunkOf(records), settings.format)
  const encoded = encodeChunk(parsed, new Set(known), settings, 0)
  return { ...encoded, readable: parsed.readable, faults: [...parsed.faults, ...encoded.faults] }
}

function codesOf(records: readonly (string | Buffer)[]) {
  return work(records)
    .faults.sort((a, b) => a.line - b.line)
    .map(({ line, code }) => [line, code])
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

t.test('a chunk of records', async (t) => {
  t.test('each bad record has its own line and code', async (t) => {
    t.same(
      codesOf([
        '{"agent_name":"a","trace_id":"good"}',
        '{"agent_name":',
        '[1]',
        '"text"',
        '{"nothing":"known"}',
        '{"agent_name":7}',
        Buffer.from('7b2261223a22ff227d', 'hex'),
        `{"agent_name":"a","metadata":{"deep":${nested(63)}}}`,
        `{"agent_name":"a","tags":"x","trace_id":"a\\u0000b"}`,
        `{"agent_name":"a","metadata":{"deep":${nested(62)}}}`,
      ]),
      [
        [2, 'invalid_json'],
        [3, 'not_an_object'],
        [4, 'not_an_object'],
        [5, 'unknown_format'],
        [6, 'invalid_record'],
        [7, 'invalid_utf8'],
        [8, 'too_deep'],
        [9, 'invalid_record'],
      ],
    )
  })

  t.test('what is no JSON is told where it stops being it', async (t) => {
    const { faults } = work(['{"a":nope}', '{"a":', '[1,\n 2,]', '{"a":"b\tc"}'])
    const said = [
      'unexpected "n" at column 6',
      'it ends at column 6',
      'unexpected "]" at its line 2, column 4',
      'unexpected "\\t" at column 8',
    ]
    t.same(
      faults.map(({ message }) => message),
      said.map((what) => `The record is not well-formed JSON: ${what}`),
    )
  })

  t.test('large records are measured before they are parsed', async (t) => {
    const padding = ' '.repeat(1 << 20)
    t.same(
      codesOf([
        `{"agent_name":"a","x":${padding}${nested(100_000)}}`,
        `{"agent_name":"a","x":${padding}[${'0,'.repeat(1_000_001)}0]}`,
        `{"agent_name":"a","x":${padding}"${'[{,\\"'.repeat(300_000)}"}`,
      ]),
      [
        [1, 'too_deep'],
        [2, 'too_many_values'],
      ],
    )
  })

  t.test('known traces and repeated ones are skipped', async (t) => {
    const result = work(
      [
        '{"agent_name":"a","trace_id":"old","tags":"not even checked"}',
        '{"agent_name":"a","trace_id":"bad","tags":"x"}',
        '{"agent_name":"a","trace_id":"bad","scores":{"s":1}}',
        '{"agent_name":"b","trace_id":"bad"}',
        '{"agent_name":"a","id":7}',
        '{"agent_name":"a","trace_id":"7"}',
      ],
      ['old'],
    )
    t.same(result.traceIds, ['bad', '7'])
    t.same(result.lines, [3, 5])
    t.equal(result.skipped, 3)
    t.match(result.scores, [{ trace_id: 'bad', name: 's', value: 1 }])
    t.match(result.faults, [{ line: 2, code: 'invalid_record' }])
  })

  t.test('traces that are encoded as they are parsed give the same chunk', async (t) => {
    const message = { role: 'user', content: 'Hi' }
    const span = { traceId: '0'.repeat(31) + '1', spanId: '0'.repeat(15) + '1', name: 'run' }
    const chunk = chunkOf(
      [
        { agent_name: 'a', trace_id: '1', scores: { s: 1 } },
        { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] },
        { agent_name: 'a', trace_id: '1' },
        { agent_name: 'a', trace_id: '2', tags: 'x' },
        { agent_name: 'a', trace_id: '2' },
        { agent_name: 'a', trace_id: '3', messages: [message], large: 'x'.repeat(20_000) },
        { agent_name: 'a', trace_id: 'old', tags: 'x' },
        [],
      ].map((record) => JSON.stringify(record)),
    )
    const known = new Set(['old'])
    const { candidates, ...said } = parseChunk(chunk, null)
    const later = encodeChunk({ candidates }, known, SETTINGS, 0)
    const encoder = openChunkEncoder(SETTINGS)
    const taken = parseChunk(chunk, null, encoder.addNew)
    t.equal(candidates.length, 7)
    t.match(taken, { ...said, format: 'traces', candidates: { length: 3 } })
    t.strictSame(encodeChunk(taken, known, SETTINGS, 0, encoder), later)
    t.strictSame([later.traceIds, later.skipped, later.losses.length], [['1', '2', '3'], 2, 1])
    t.match(later.faults, [{ line: 4 }])
    t.equal(later.faults.length, 1)
  })

  t.test('a format that was asked for is the only one', async (t) => {
    const settings = { ...SETTINGS, format: 'openai_chat' as const, agentName: 'a' }
    const result = work(['{"messages":[{"role":"user"}]}', '{"llm_calls":[]}'], [], settings)
    t.equal(result.traceIds.length, 1)
    t.match(result.faults, [{ line: 2, code: 'other_format' }])
  })

  t.test('a conversation without messages is told by its line', async (t) => {
    const records = [{ messages: [] }, { messages: null }, { input: { messages: [] }, output: 'x' }]
    t.same(codesOf(records.map((each) => JSON.stringify({ agent_name: 'a', ...each }))), [
      [1, 'empty_conversation'],
      [2, 'empty_conversation'],
      [3, 'empty_conversation'],
    ])
  })

  t.test('of a preference row both traces are stored, or none and one fault', async (t) => {
    const row = (input: object, others: object = {}) =>
      JSON.stringify({
        agent_name: 'a',
        input: { messages: [{ role: 'user', content: 'Hi' }], ...input },
        preferred_output: [{ role: 'assistant', content: 'Hello' }],
        non_preferred_output: [{ role: 'assistant', content: 'What?' }],
        ...others,
      })
    const first = work([row({})])
    t.same(first.lines, [1, 1])
    t.match(work([row({})], [first.traceIds[0] ?? '']), {
      skipped: 1,
      traceIds: [first.traceIds[1]],
    })
    t.match(work([row({}), row({})]), { skipped: 2 })
    for (const wrong of [
      row({ messages: 'Hi' }),
      row({ messages: ['Hi'] }),
      row({}, { preferred_output: [] }),
      row({}, { non_preferred_output: null }),
      row({}, { non_preferred_output: [7] }),
    ]) {
      const { traceIds, faults } = work([wrong])
      t.same(traceIds, [], wrong)
      t.match(faults, [{ line: 1, code: 'invalid_record' }])
      t.equal(faults.length, 1)
    }
  })

  t.test('what cannot be kept is counted for its trace', async (t) => {
    const large = 'x'.repeat(20_000)
    const { losses, traceIds } = work([
      JSON.stringify({ agent_name: 'a', trace_id: 't', large, messages: [{ role: 'user' }] }),
      JSON.stringify({ agent_name: 'a', small: 1, messages: [{ role: 'user' }] }),
    ])
    t.equal(traceIds.length, 2)
    t.same(losses, [{ trace_id: 't', code: 'members_dropped' }])
  })

  t.test('sums of many counts can be stored', async (t) => {
    const llm_calls = Array(1100).fill({ input_tokens: Number.MAX_SAFE_INTEGER, cost_usd: 1e308 })
    t.equal(work([JSON.stringify({ agent_name: 'a', llm_calls })]).traceIds.length, 1)
  })

  t.test('arguments that are nested without end stay text', async (t) => {
    const call = { id: '1', type: 'function', function: { name: 'f', arguments: nested(100_000) } }
    const messages = [{ role: 'assistant', tool_calls: [call] }]
    t.equal(work([JSON.stringify({ agent_name: 'a', messages })]).traceIds.length, 1)
  })

  t.test('whatever the records are, each is stored, skipped or a fault', async (t) => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\0', '\ud800', '\udfffx', 'success', '2026-01-01T00:00:00Z'),
    )
    const value = fc.oneof(
      text,
      fc.double(),
      fc.constantFrom(9_007_199_254_740_991, 1e308, -1, null, true),
      fc.array(text, { maxLength: 3 }),
      fc.dictionary(text, fc.jsonValue(), { maxKeys: 3 }),
    )
    const message = fc.record({
      role: fc.constantFrom('user', 'tool', 'assistant'),
      content: value,
    })
    const call = fc.record(
      {
        rendered_input: fc.array(message, { maxLength: 3 }),
        input_tokens: fc.constantFrom(1, 9_007_199_254_740_991),
        cost_usd: fc.constantFrom(1e308, 0.1),
        output: fc.oneof(text, message),
      },
      { requiredKeys: ['rendered_input'] },
    )
    const mostly = <T>(good: fc.Arbitrary<T>) =>
      fc.oneof(
        { weight: 9, arbitrary: good as fc.Arbitrary<unknown> },
        { weight: 1, arbitrary: value },
      )
    const record = fc.record(
      {
        agent_name: mostly(fc.constantFrom('a', 'ünï')),
        trace_id: mostly(
          fc.string({ unit: fc.constantFrom('a', 'b', '€'), minLength: 1, maxLength: 3 }),
        ),
        llm_calls: mostly(fc.array(call, { maxLength: 1200 })),
        messages: mostly(fc.array(message, { maxLength: 3 })),
        metadata: mostly(fc.dictionary(text, fc.jsonValue(), { maxKeys: 3 })),
        tags: mostly(fc.constant(['x', ''])),
        user_input_preview: mostly(text),
        started_at: mostly(fc.constant('2026-01-01T00:00:00Z')),
        scores: mostly(fc.constant({ s: 1 })),
      },
      { requiredKeys: ['agent_name'] },
    )
    let stored = 0
    fc.assert(
      fc.property(fc.array(record, { maxLength: 8 }), (records) => {
        const result = work(records.map((each) => JSON.stringify(each)))
        stored += result.traceIds.length
        t.equal(result.rows.ends.length, result.traceIds.length)
        const refused = result.faults.filter(({ code }) => code !== 'invalid_score')
        return result.traceIds.length + result.skipped + refused.length === records.length
      }),
      { numRuns: 300 },
    )
    t.ok(stored > 100, `${stored} were stored`)
  })
})
