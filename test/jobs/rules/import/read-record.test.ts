import t from 'tap'
import { openaiChat } from '../../../../jobs/rules/import/chat/openai-chat.ts'
import { readRecord } from '../../../../jobs/rules/import/read-record.ts'
import { tauBench } from '../../../../jobs/rules/import/tau-bench.ts'
import { traceLines } from '../../../../jobs/rules/import/trace-lines.ts'
import fc from '../../../support/property.ts'

const DEFAULTS = { agentName: 'a', now: new Date(0) }
const formats = { traces: traceLines, openai_chat: openaiChat, tau_bench: tauBench }
const read = (name: keyof typeof formats, record: Record<string, unknown>) =>
  readRecord(record, formats[name], { ...DEFAULTS, traceId: formats[name].traceIdOf(record) })

/** Members that the formats look at, with anything in them. */
const names = fc.constantFrom(
  ...`id trace_id agent_name task_id trial reward info traj messages tools input output scores eval_scores
  metadata tags llm_calls spans started_at duration_ms usage model temperature cost_usd role content
  tool_calls tool_call_id function name arguments choices message is_error status`.split(/\s+/),
)
const leaf = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constant('user'), fc.constant('tool'))
const { record: anyRecord } = fc.letrec<{ value: unknown; record: Record<string, unknown> }>(
  (tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value'), { maxLength: 4 }), tie('record')),
    record: fc.dictionary(names, tie('value'), { maxKeys: 6 }),
  }),
)

t.test('reading records', async (t) => {
  t.test('anything is either a trace or refused', async (t) => {
    let traces = 0
    let refused = 0
    fc.assert(
      fc.property(
        fc.constantFrom('traces', 'openai_chat', 'tau_bench'),
        anyRecord,
        (name, record) => {
          const result = read(name, record)
          if ('trace' in result) traces++
          else refused++
          return 'trace' in result ? result.trace.agent_name !== '' : result.faults.length > 0
        },
      ),
      { numRuns: 3000 },
    )
    t.ok(traces > 50 && refused > 50, `${traces} traces, ${refused} refused`)
  })

  t.test('every faulty score is counted, and the first ones are told', async (t) => {
    const scores = Array.from({ length: 100 }, (_, i) => ({ name: `s${i}`, score: 7 }))
    const result = read('traces', { agent_name: 'a', scores })
    if ('faults' in result) throw new Error('refused')
    t.same(result.losses, Array(100).fill('invalid_score'))
    t.equal((result.trace.metadata['import'] as { warnings: string[] }).warnings.length, 20)
  })

  t.test('our own lines are traces with their scores beside', async (t) => {
    const result = read('traces', {
      trace_id: 't1',
      source_type: 'production',
      llm_calls: [{ rendered_input: [{ role: 'user', content: 'x' }], output: 'y' }],
      scores: [{ name: 'a', score: 0.5 }],
      eval_scores: [
        { name: 'b', value: 1, source: 'human', score_id: 'ignored' },
        { name: 'a', value: 0.75 },
      ],
    })
    t.match(result, { trace: { trace_id: 't1', source_type: 'production', metadata: {} } })
    t.match(result, {
      scores: [
        { name: 'a', value: 0.75 },
        { name: 'b', source_kind: 'human' },
      ],
    })
  })

  t.test('what only answers of ours say of a trace is kept or told as lost', async (t) => {
    const answered = {
      project: 'shop',
      project_id: 'p',
      eval_verdict: 'pass',
      eval_score: 0.9,
      verdict: 'keep',
      created_at: '2026-03-01T10:00:00Z',
    }
    const line = { trace_id: 't1', agent_name: 'a', ...answered, unheard_of: 1 }
    const result = read('traces', line)
    t.match(result, { losses: [], trace: { metadata: { extra: { ...answered, unheard_of: 1 } } } })
    t.match(read('traces', { ...line, verdict: 'x'.repeat(20_000) }), {
      losses: ['members_dropped'],
      trace: { metadata: { import: { warnings: [/verdict/] } } },
    })
  })

  t.test('a line without an id has one that all it says decides', async (t) => {
    const id = formats.traces.traceIdOf({ agent_name: 'a' })
    t.match(id, /^trace-[0-9a-f]{32}$/)
    t.not(formats.traces.traceIdOf({ agent_name: 'b' }), id)
    t.match(read('traces', { agent_name: 'a' }), {
      trace: { trace_id: id, source_type: 'imported' },
    })
  })
})
