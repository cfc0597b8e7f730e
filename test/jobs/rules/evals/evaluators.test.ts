import t from 'tap'
import { evaluate, runCheck } from '../../../../jobs/rules/evals/evaluators.ts'
import type { CheckConfig, Evaluated } from '../../../../jobs/rules/evals/evaluators.ts'
import { goodRun } from '../../../support/evidence.ts'
import fc from '../../../support/property.ts'

const valuesOf = (run: Partial<Evaluated>) =>
  Object.fromEntries(evaluate({ ...goodRun, ...run }).map(({ name, value }) => [name, value]))

t.test('the evaluators that are always on', async (t) => {
  t.test('score a run by what it was', async (t) => {
    t.same(valuesOf({}), {
      completion: 1,
      has_output: 1,
      tool_compliance: 1,
      latency: 0.8,
      token_efficiency: 0.9,
    })
    t.equal(valuesOf({ status: 'partial' })['completion'], 0.5)
    t.equal(valuesOf({ status: 'error' })['completion'], 0)
    t.equal(valuesOf({ has_output: false })['has_output'], 0)
    t.equal(valuesOf({ tool_error_count: 1 })['tool_compliance'], 0.75)
    t.equal(valuesOf({ llm_latency_ms: 20_000 })['latency'], 0)
    t.equal(valuesOf({ llm_latency_ms: 10_000, llm_call_count: 2 })['latency'], 0.5)
    t.equal(valuesOf({ output_tokens: 5000, llm_call_count: 2 })['token_efficiency'], 0.5)
  })

  t.test('have no value where there is nothing to measure', async (t) => {
    const nothing = {
      tool_call_count: 0,
      llm_call_count: 0,
      llm_latency_ms: null,
      output_tokens: 0,
    }
    const values = valuesOf(nothing)
    t.match(values, { tool_compliance: null, latency: null, token_efficiency: null, completion: 1 })
    const labels = evaluate({ ...goodRun, ...nothing }).map(({ value, label }) => [value, label])
    for (const [value, label] of labels) t.equal(label, value === null ? 'not_applicable' : null)
  })

  t.test('stay within 0 and 1', async () => {
    const run = fc.record({
      tool_call_count: fc.nat(1000),
      llm_call_count: fc.nat(1000),
      output_tokens: fc.nat(),
      llm_latency_ms: fc.option(fc.double({ min: -1e9, max: 1e300, noNaN: true })),
    })
    fc.assert(
      fc.property(run, fc.nat(1000), (run, errors) => {
        const scores = evaluate({
          ...goodRun,
          ...run,
          tool_error_count: Math.min(errors, run.tool_call_count),
        })
        return scores.every(({ value }) => value === null || (value >= 0 && value <= 1))
      }),
    )
  })
})

t.test('a check', async (t) => {
  const result = (check: CheckConfig, output = '', run = {}) => {
    const score = runCheck(
      { name: 'check', agent_name: '', ...check },
      { ...goodRun, ...run },
      output,
    )
    return score.value
  }

  t.test('json_valid wants the whole output to be JSON', async (t) => {
    t.equal(result({ type: 'json_valid', config: {} }, '{"a": [1]}'), 1)
    t.equal(result({ type: 'json_valid', config: {} }, 'Sure: {"a": 1}'), 0)
    t.equal(result({ type: 'json_valid', config: {} }, ''), 0)
  })

  t.test('contains takes its text literally', async (t) => {
    const contains = (text: string, case_sensitive = true) =>
      ({ type: 'contains', config: { text, case_sensitive } }) as const
    t.equal(result(contains('a.c'), 'xa.cx'), 1)
    t.equal(result(contains('a.c'), 'abc'), 0)
    t.equal(result(contains('ABC'), 'abc'), 0)
    t.equal(result(contains('ABC', false), 'abc'), 1)
  })

  t.test('max_cost and max_steps include their bound', async (t) => {
    t.equal(result({ type: 'max_cost', config: { usd: 0.01 } }), 1)
    t.equal(result({ type: 'max_cost', config: { usd: 0.009 } }), 0)
    t.equal(result({ type: 'max_cost', config: { usd: 1 } }, '', { cost_usd: null }), null)
    t.equal(result({ type: 'max_steps', config: { steps: 2 } }), 1)
    t.equal(result({ type: 'max_steps', config: { steps: 1 } }), 0)
  })
})
