import t from 'tap'
import { readContract } from '../../../../jobs/rules/manifests/contract.ts'
import type { Component } from '../../../../jobs/rules/manifests/manifest.ts'
import { detectViolations, planDetection } from '../../../../jobs/rules/manifests/violations.ts'
import { manifestUnknown } from '../../../../jobs/rules/manifests/violation.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import { component, tool, traceOf } from '../../../support/manifests.ts'

const string = { type: 'string' }

function detect(
  components: Component[],
  trace: ReturnType<typeof traceOf>,
  is_closed_world = false,
) {
  const contract = readContract({ components, is_closed_world })
  return detectViolations(trace, planDetection(contract, schemaCompiler()))
}

t.test('contract violations', async (t) => {
  const search = tool('search', { q: string, n: { type: 'integer', maximum: 9 } }, ['q'], {
    additionalProperties: false,
  })

  t.test('are none for a trace that keeps to its manifest', async (t) => {
    const trace = traceOf([['search', { q: 'x' }]])
    t.same(detect([search, component('model', 'gpt-4o', {})], trace, true), [])
  })

  t.test('what is not declared counts in a closed world only', async (t) => {
    const trace = traceOf(
      [
        ['search', { q: 'x' }],
        ['delete_all', {}],
      ],
      {
        active_skills: ['haiku'],
        spans: [
          { id: 'h', span_type: 'handoff', name: 'handoff to billing' },
          { id: 'r', span_type: 'retrieval', name: 'query', attributes: { source: 'wiki' } },
        ],
      },
    )
    const components = [
      search,
      component('model', 'claude-3', {}),
      component('context_config', 'kb', { sources: ['handbook'] }),
    ]
    t.same(detect(components, trace), [])
    t.match(detect(components, trace, true), [
      { kind: 'context_source_undeclared', severity: 'medium', subject: 'wiki', span_id: 'r' },
      { kind: 'model_undeclared', severity: 'high', subject: 'gpt-4o' },
      { kind: 'skill_undeclared', severity: 'medium', subject: 'haiku' },
      { kind: 'subagent_undeclared', severity: 'medium', subject: 'billing' },
      {
        kind: 'tool_undeclared',
        severity: 'high',
        subject: 'delete_all',
        position: 1,
        expected: 'declared in the manifest',
        observed: 'used',
      },
    ])
  })

  t.test('a declared schema is a promise, and says what was broken where', async (t) => {
    const trace = traceOf([
      ['search', { q: 'x' }],
      ['search', { n: 'many', extra: 1 }],
      ['search', { q: 'x', n: 10 }],
    ])
    t.match(detect([search], trace), [
      {
        kind: 'tool_args_invalid',
        severity: 'medium',
        subject: 'search',
        position: 1,
        observed: '/extra unexpected_param; /n type; /q missing_required',
      },
      { kind: 'tool_args_invalid', position: 2, observed: '/n value (maximum)' },
    ])
  })

  t.test(
    'a structured result is held against the output schema, unless the call failed',
    async (t) => {
      const output_schema = { type: 'object', required: ['id'] }
      const lookup = component('tool', 'lookup', { output_schema })
      const trace = traceOf([
        ['lookup', {}, { id: 1 }],
        ['lookup', {}, { name: 'x' }],
        ['lookup', {}, '{"name":"x"}'],
        ['lookup', {}, 'a plain text'],
      ])
      const found = detect([lookup], trace)
      t.match(found, [
        { kind: 'tool_output_invalid', position: 1, observed: '/id missing_required' },
        { kind: 'tool_output_invalid', position: 2 },
      ])
      t.equal(found.length, 2)
      const failed = traceOf([], {
        llm_calls: [{ tool_calls: [{ tool_name: 'lookup', status: 'error', result: {} }] }],
      })
      t.same(detect([lookup], failed), [])
    },
  )

  t.test('the final output keeps its contract', async (t) => {
    const contract = component('output_contract', 'out', {
      schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
    })
    const answered = (content: string, more = {}) =>
      traceOf([], { llm_calls: [{ output: { content } }], ...more })
    t.same(detect([contract], answered('{"ok":true}')), [])
    t.match(detect([contract], answered('{"ok":1}')), [
      { kind: 'output_contract_failed', severity: 'high', observed: '/ok type' },
    ])
    t.match(detect([contract], answered('my card is 4111')), [
      { kind: 'output_contract_failed', observed: '15 characters that are not JSON' },
    ])
    t.same(detect([contract], answered('no', { status: 'error' })), [])
    t.same(detect([contract], answered('no', { status: 'running' })), [])
  })

  t.test('guardrails ran and passed', async (t) => {
    const components = [component('guardrail', 'pii', {}), component('guardrail', 'toxicity', {})]
    const spans = [
      { id: 'g1', span_type: 'guardrail', name: 'pii', status: 'error' },
      { id: 'g2', span_type: 'guardrail', name: 'of somebody else', status: 'error' },
    ]
    t.match(detect(components, traceOf([], { spans })), [
      { kind: 'guardrail_failed', severity: 'high', subject: 'pii', span_id: 'g1' },
    ])
    t.match(detect(components, traceOf([], { spans }), true), [
      { kind: 'guardrail_failed' },
      { kind: 'guardrail_missing', severity: 'high', subject: 'toxicity' },
    ])
  })

  t.test('policies name what is forbidden, needed and too much', async (t) => {
    const policy = component('behavioral_policy', 'p', {
      forbidden_tools: ['rm'],
      required_tools: ['confirm'],
      max_steps: 0,
      max_tool_calls: 1,
    })
    const trace = traceOf([
      ['rm', {}],
      ['rm', {}],
    ])
    t.match(detect([policy], trace), [
      { kind: 'step_limit_exceeded', severity: 'medium', expected: 'at most 0', observed: '1' },
      { kind: 'tool_call_limit_exceeded', severity: 'medium', observed: '2' },
      { kind: 'tool_forbidden', severity: 'high', subject: 'rm', position: 0 },
      { kind: 'tool_forbidden', position: 1 },
      { kind: 'tool_required_missing', severity: 'high', subject: 'confirm' },
    ])
    const within = component('output_contract', 'out', { policy: { forbidden_tools: ['rm'] } })
    t.equal(detect([within], trace).length, 2)
  })

  t.test('50 of a kind and subject are kept, and the last tells how many there are', async (t) => {
    const faulty = { q: 1, ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, i])) }
    const calls = Array.from({ length: 350 }, () => ['search', faulty] as const)
    const found = detect([search], traceOf([...calls, ['rm', {}]]), true)
    t.equal(found.length, 51)
    t.match(found.at(-2), { kind: 'tool_args_invalid', position: 49, observed: /; and 300 more$/ })
    t.equal(found.at(-2)?.observed?.length, 500)
    t.notMatch(found.at(-3), { observed: / more$/ })
    t.match(found.at(-1), { kind: 'tool_undeclared', subject: 'rm', observed: 'used' })
  })

  t.test('200 of a trace are kept, those of the whole trace among them', async (t) => {
    const calls = Array.from({ length: 300 }, (_, i) => [`tool ${i}`, {}] as const)
    const policy = component('behavioral_policy', 'p', { max_tool_calls: 1 })
    const found = detect([policy], traceOf(calls), true)
    t.equal(found.length, 200)
    t.match(found[0], { kind: 'tool_call_limit_exceeded', observed: '300' })
    const last = found.filter(({ observed }) => observed?.includes('more'))
    t.match(last, [{ kind: 'tool_undeclared', position: 198, observed: 'used; and 101 more' }])
    t.equal(last.length, 1)
  })

  t.test('a manifest that the agent does not have is told with its name', async (t) => {
    t.match(manifestUnknown('sha256:1'), { kind: 'manifest_unknown', severity: 'low' })
  })
})
