import t from 'tap'
import { chooseFormat, detectFormat, FORMAT_NAMES } from '../../../../jobs/rules/import/detect.ts'
import type { FormatName } from '../../../../jobs/rules/import/detect.ts'
import type { Members } from '../../../../jobs/rules/import/format.ts'
import fc from '../../../support/property.ts'
import { traceLine, verdictLine } from '../../../support/backup-lines.ts'

/** Records of each format, as their sources write them. */
const RECORDS: Readonly<Record<FormatName, readonly Members[]>> = {
  traces: [
    { agent_name: 'a' },
    { llm_calls: [], messages: [] },
    { trace_id: 't', agent_name: 'a', spans: [], scores: { s: 1 }, metadata: {} },
  ],
  openai_chat: [
    { messages: [], agent_name: 'a' },
    { input: { messages: [] } },
    { input: { messages: [] }, preferred_output: [], non_preferred_output: [] },
  ],
  langfuse: [
    { id: 't', trace: { id: 't' }, observations: [{ id: 'o', type: 'GENERATION' }] },
    { id: 'o', traceId: 't', type: 'GENERATION', name: 'n', startTime: '2026-01-01T00:00:00Z' },
    { id: 'o', trace_id: 't', type: 'SPAN', name: 'n', project_id: 'p', start_time: '2026-01-01' },
    {
      id: 't',
      name: 'n',
      timestamp: '2026-01-01',
      bookmarked: false,
      public: false,
      input: 'x',
      output: 'y',
      tags: [],
    },
    { id: 's', traceId: 't', name: 'helpful', value: 1, dataType: 'NUMERIC', source: 'API' },
    { id: 'e', type: 'trace-create', timestamp: '2026-01-01T00:00:00Z', body: { id: 't' } },
  ],
  atif: [{ schema_version: 'ATIF-v1.4', session_id: 's', agent: { name: 'a' }, steps: [] }],
  langsmith: [
    { id: 'r', trace_id: 'r', dotted_order: '20260101T000000000000Zr', name: 'run', inputs: {} },
    { id: 'r', run_type: 'llm', inputs: { messages: [] }, outputs: {}, session_id: 'p' },
    { post: [{ id: 'r', run_type: 'llm' }], patch: [] },
    { run_id: 'r', key: 'helpful', score: 1, comment: null },
  ],
  phoenix: [
    { name: 's', context: { trace_id: 't', span_id: 's' }, span_kind: 'LLM', attributes: {} },
    { name: 's', 'context.trace_id': 't', 'context.span_id': 's', 'attributes.input.value': 'x' },
    { name: 'helpful', annotator_kind: 'HUMAN', trace_id: 't', result: { score: 1 } },
  ],
  otlp: [
    { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [] }] },
    { resource: { attributes: [] }, scopeSpans: [{ scope: { name: 's' }, spans: [] }] },
    { trace_id: 't', span_id: 's', start_time_unix_nano: 1, attributes: [] },
  ],
  opik: [
    { id: 't', project_name: 'p', name: 'n', start_time: '2026-01-01T00:00:00Z', input: {} },
    { id: 's', trace_id: 't', project_name: 'p', type: 'llm', name: 'n', input: { messages: [] } },
    { scores: [{ id: 't', name: 'helpful', value: 1, source: 'ui' }] },
    { trace: { id: 't', input: {} }, spans: [{ id: 's', trace_id: 't' }], attachments: [] },
  ],
  tau_bench: [{ traj: [], task_id: 1, trial: 0, reward: 1, info: {} }],
}

const examples = FORMAT_NAMES.flatMap((name) => RECORDS[name].map((record) => ({ name, record })))

t.test('detecting formats', async (t) => {
  t.test('each record is taken for what it is, whatever the order of its members', async () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...examples).chain(({ name, record }) =>
          fc.record({
            name: fc.constant(name),
            entries: fc.shuffledSubarray(Object.entries(record), {
              minLength: Object.keys(record).length,
            }),
          }),
        ),
        ({ name, entries }) => detectFormat(Object.fromEntries(entries)) === name,
      ),
    )
  })

  t.test('a format that was asked for takes its own records and no others', async (t) => {
    for (const { name, record } of examples) {
      for (const asked of FORMAT_NAMES) {
        const chosen = chooseFormat(record, asked)
        if ('name' in chosen) t.equal(chosen.name, asked)
        else {
          t.equal(chosen.code, 'other_format')
          t.match(chosen.message, `${asked}; it looks like ${name}`)
          t.not(asked, name)
        }
      }
    }
    t.match(chooseFormat({ messages: [] }, 'traces'), { code: 'other_format' })
  })

  t.test('a record that nobody knows is a trace for those who ask for traces', async (t) => {
    t.same(chooseFormat({ user_input_preview: 'Hi' }, 'traces'), { name: 'traces' })
    t.match(chooseFormat({ user_input_preview: 'Hi' }, null), { code: 'unknown_format' })
    t.match(chooseFormat({ user_input_preview: 'Hi' }, 'openai_chat'), { code: 'unknown_format' })
  })

  t.test('a line of a backup is no trace, however it looks', async (t) => {
    const line = JSON.parse(JSON.stringify({ ...traceLine('a'), manifest_id: undefined })) as object
    for (const record of [line, verdictLine('a'), { kind: 'backup', format: 2 }]) {
      t.match(chooseFormat({ ...record }, null), { code: 'backup_line' })
      t.match(chooseFormat({ ...record }, 'traces'), { code: 'backup_line' })
    }
    t.same(chooseFormat({ kind: 'trace', agent_name: 'a' }, null), { name: 'traces' })
  })

  t.test('a record of no known shape is told by its members', async (t) => {
    const members = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`m${i}`, i]))
    const refusal = chooseFormat({ ['x'.repeat(100)]: 1, 'a\nb': 2, ...members }, null)
    t.match(refusal, { code: 'unknown_format' })
    const { message } = refusal as { message: string }
    t.match(message, `the members "${'x'.repeat(64)}", "a\\nb", "m0", `)
    t.match(message, `"m9" and 5 more and is none of: ${FORMAT_NAMES.join(', ')}`)
    t.match(chooseFormat({}, null), { message: /^The record has no members and is none of/ })
  })
})
