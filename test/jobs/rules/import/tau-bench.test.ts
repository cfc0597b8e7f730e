import t from 'tap'
import { detectFormat } from '../../../../jobs/rules/import/detect.ts'
import { readRecord } from '../../../../jobs/rules/import/read-record.ts'
import { tauBench } from '../../../../jobs/rules/import/tau-bench.ts'
import { factsOf } from '../../../../jobs/rules/traces/trace-facts.ts'
import { conversationOf } from '../../../../jobs/rules/traces/conversation.ts'
import { readTrials } from '../../../support/tau-bench.ts'

const TRIAL = {
  task_id: 3,
  trial: 1,
  reward: 1,
  info: { cost: 2 },
  traj: [{ role: 'user', content: 'x' }],
}

function read(record: Record<string, unknown>, agentName: string | null = null) {
  const traceId = tauBench.traceIdOf(record)
  return readRecord(record, tauBench, { traceId, agentName, now: new Date(0) })
}

t.test('tau-bench trials', async (t) => {
  t.test('become a trace with the reward as its score', async (t) => {
    const result = read(TRIAL)
    if ('faults' in result) throw new Error(JSON.stringify(result.faults))
    t.match(result.trace, {
      trace_id: /^tau-3-1-[0-9a-f]{12}$/,
      agent_name: 'tau-bench',
      task_id: '3',
      metadata: { import: { source: 'tau_bench', task_id: 3, trial: 1, info: { cost: 2 } } },
    })
    t.match(result.scores, [{ name: 'reward', value: 1, source: 'custom', source_kind: 'custom' }])
  })

  t.test('of several attempts at a task are different traces', async (t) => {
    const ids = [TRIAL, { ...TRIAL, trial: 2 }, { ...TRIAL, traj: [] }].map(tauBench.traceIdOf)
    t.equal(new Set(ids).size, 3)
    t.equal(tauBench.traceIdOf({ ...TRIAL, reward: 0 }), ids[0])
  })

  t.test('keep what does not fit as a warning', async (t) => {
    const large = read({ ...TRIAL, reward: 1.5, info: 'x'.repeat(20_000) }, 'airline')
    if ('faults' in large) throw new Error(JSON.stringify(large.faults))
    t.match(large.trace, {
      agent_name: 'airline',
      metadata: {
        import: {
          warnings: ['info was left out because it is large', 'reward 1.5 was clipped to 0..1'],
        },
      },
    })
    t.match(large.scores, [{ value: 1 }])
  })

  t.test('without a reward, or with a wrong one, have no score', async (t) => {
    t.match(read({ ...TRIAL, reward: null }), { scores: [] })
    t.match(read({ ...TRIAL, reward: 'good' }), {
      scores: [],
      losses: ['invalid_score'],
    })
    t.match(read({ ...TRIAL, traj: 5 }), { faults: [{ field: 'traj', message: 'must be a list' }] })
  })

  t.test('of a result file are all there', async (t) => {
    const trials = readTrials()
    const traces = trials.map((trial) => {
      t.equal(detectFormat({ ...trial }), 'tau_bench')
      const result = read({ ...trial })
      if ('faults' in result) throw new Error(JSON.stringify(result.faults))
      t.equal(conversationOf(result.trace).length, trial.traj.length)
      t.equal(result.scores[0]?.value, trial.reward)
      return result.trace
    })
    t.equal(new Set(traces.map(({ trace_id }) => trace_id)).size, 10)
    t.equal(new Set(traces.map(({ task_id }) => task_id)).size, 4)
    const calls = traces.flatMap(({ llm_calls }) => llm_calls.flatMap((call) => call.tool_calls))
    t.equal(calls.length, 15)
    t.ok(traces.every((trace) => factsOf(trace).malformed === null))
  })
})
