import { draw, functionTool, pick } from './agent.ts'
import type { DemoAgent } from './agent.ts'
import { hashOf, manifestOf, randomNumbers, scoresOf, timeWithin } from './attempt.ts'
import type { DemoTrace } from './attempt.ts'
import { openRecorder } from './recorder.ts'

/** The id of the run that handed a task over. */
export function triageIdOf(task: number) {
  return `triage-${String(1 + (task % TRACES)).padStart(3, '0')}`
}

/**
 * An agent that hands work to others, two weeks of it: now and then it breaks its contract, and some of
 * what was recorded cannot be learnt from. As `POST /manifests` and `POST /traces/batch` take them; the
 * same at every call but for the times, which end at `now`.
 */
export function makeTriage(now: Date) {
  const random = randomNumbers(20_260_612)
  const runs = Array.from({ length: TRACES }, (_, i) => {
    // Each third one is of the last day, which is what lists of violations show first.
    const stretch = i % 3 === 0 ? { from: 0.95, to: 0.02 } : { from: 13.8, to: 1 }
    return recordRun(i, timeWithin(now, random, stretch), random)
  })
  return {
    manifest: { ...manifestOf(triageAgent, 'v1'), is_closed_world: true },
    traces: [...runs, ...unlearnable(runs)],
  }
}

function recordRun(i: number, startedAt: Date, random: () => number) {
  const fault = i % FAULT_EVERY === 0 ? pick(FAULTS, i / FAULT_EVERY) : undefined
  const model = fault === 'model' ? 'example-nano-1' : MODEL
  const record = openRecorder({ ...triageAgent, model, startedAt, random })
  const subject = pick(SUBJECTS, i)
  const customer = `C-${3100 + ((i * 31) % 4000)}`
  record.user(`${draw(subject.says, i, 31)} (customer ${customer}, ticket ${8100 + i})`)
  if (fault !== 'guardrail missing') {
    record.step('guardrail', GUARDRAIL, fault === 'guardrail failed' ? { status: 'error' } : {})
  }
  const args =
    fault === 'arguments' ? { customer: Number(customer.slice(2)) } : { customer_id: customer }
  const result = { customer_id: customer, plan: draw(PLANS, i, 32), open_tickets: i % 4 }
  record.agent('Who is that?', { name: 'find_customer', args, result })
  if (fault === 'tool') {
    const deleted = { ticket: 8100 + i, deleted: true }
    record.agent('This one is a copy.', {
      name: 'delete_ticket',
      args: { ticket: 8100 + i },
      result: deleted,
    })
  }
  if (fault === 'steps') {
    for (const word of ['once', 'twice', 'three times', 'four times']) {
      record.agent(`I look ${word} more.`, { name: 'find_customer', args, result })
    }
  }
  const route = fault === 'sub-agent' ? 'legal-agent' : subject.route
  record.step('handoff', route, { attributes: { to_agent: route } })
  const answer = { route, priority: i % 7 === 0 ? 'high' : 'normal', ticket: 8100 + i }
  record.agent(
    fault === 'output' ? `I would give this to ${route}, I think.` : JSON.stringify(answer),
  )
  const trace_id = triageIdOf(i)
  const trace: DemoTrace = {
    trace_id,
    agent_name: triageAgent.name,
    manifest_hash: hashOf(triageAgent, 'v1'),
    session_id: `ticket-${8100 + i}`,
    environment: 'production',
    release: 'v1',
    tags: ['demo', `route:${route}`],
    status: 'success',
    ...record.end(),
  }
  return { ...trace, scores: scoresOf(trace_id, 'good', random, 0) }
}

/** One for each way in which a trace cannot be learnt from, whatever its scores. */
function unlearnable(runs: readonly DemoTrace[]) {
  return UNLEARNABLE.map(({ id, call, ...more }, i) => {
    const { trace_id: _, spans: __, ...run } = pick(runs, 5 + i * 8)
    const said = call && [{ model_name: MODEL, ...call }]
    return {
      ...run,
      session_id: `ticket-${id}`,
      llm_calls: said ?? [],
      ...more,
      trace_id: `triage-${id}`,
    }
  })
}

const MODEL = 'example-small-3'
const GUARDRAIL = 'pii-check'
const triageAgent: DemoAgent = {
  name: 'triage-agent',
  system:
    'You read what customers write and give it to the agent that can help. Find the customer first. Answer with JSON: route, priority (normal or high) and ticket.',
  tools: [functionTool('find_customer', 'Find a customer and their plan.', ['customer_id'])],
  models: { v1: MODEL },
  is_closed_world: true,
  components: [
    {
      component_type: 'subagent',
      component_name: 'billing-agent',
      // Which has moved on since.
      schema_json: { manifest_hash: hashOf({ name: 'billing-agent' }, 'v4') },
    },
    { component_type: 'subagent', component_name: 'support-agent', schema_json: {} },
    { component_type: 'subagent', component_name: 'sql-agent', schema_json: {} },
    { component_type: 'guardrail', component_name: GUARDRAIL, schema_json: {} },
    {
      component_type: 'output_contract',
      component_name: 'routing',
      schema_json: {
        format: 'json',
        schema: {
          type: 'object',
          properties: {
            route: { type: 'string' },
            priority: { type: 'string', enum: ['normal', 'high'] },
            ticket: { type: 'integer' },
          },
          required: ['route', 'priority', 'ticket'],
        },
        policy: { max_steps: 5 },
      },
    },
  ],
  // Its runs are recorded here, because the others neither hand over nor guard.
  play() {},
  followUp() {},
}

const SUBJECTS = [
  {
    route: 'billing-agent',
    says: [
      'We were charged twice this month, please help',
      'What is the line about audit logs on my invoice?',
      'Take the late fee off, we paid in time',
      'Why do we still pay the old price?',
    ],
  },
  {
    route: 'support-agent',
    says: [
      'The tent I ordered has a hole',
      'My parcel has been lost for a week',
      'I want my money back for the broken lamp',
    ],
  },
  {
    route: 'billing-agent',
    says: [
      'Can the invoice go to our new address?',
      'There is a charge nobody here knows',
      'Please send last month’s credit note again',
    ],
  },
  {
    route: 'sql-agent',
    says: [
      'How many orders did Borea have in May? I need it for the board',
      'Which region sold the most in month 9?',
    ],
  },
] as const
const PLANS = ['Starter', 'Team', 'Business']
/** Ways to break the contract. */
const FAULTS = [
  'tool',
  'arguments',
  'model',
  'guardrail missing',
  'output',
  'guardrail failed',
  'sub-agent',
  'steps',
] as const
const FAULT_EVERY = 4
const TRACES = 72

const ASKED = { role: 'user', content: 'Where does ticket 7001 belong?' }
const UNLEARNABLE: readonly Unlearnable[] = [
  {
    id: 'orphan-result',
    call: {
      rendered_input: [ASKED, { role: 'tool', tool_call_id: 'call_9', content: '{"plan":"Team"}' }],
      output: {
        role: 'assistant',
        content: '{"route":"billing-agent","priority":"normal","ticket":7001}',
      },
    },
  },
  {
    id: 'unknown-role',
    call: {
      rendered_input: [{ role: 'moderator', content: 'Be quick about ticket 7002.' }],
      output: {
        role: 'assistant',
        content: '{"route":"sql-agent","priority":"normal","ticket":7002}',
      },
    },
  },
  { id: 'nothing-said' },
  {
    id: 'no-consent',
    call: {
      rendered_input: [{ role: 'user', content: 'Ticket 7003: please delete all you know of me' }],
      output: {
        role: 'assistant',
        content: '{"route":"support-agent","priority":"high","ticket":7003}',
      },
    },
    metadata: { consent: false },
  },
]

interface Unlearnable {
  readonly id: string
  readonly call?: object
  readonly metadata?: object
}
