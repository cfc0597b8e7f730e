import { openRandom, openVocabulary, pick } from './random.ts'
import type { Random, Words } from './random.ts'

/**
 * Runs of agents, without end: OpenAI chat conversations of about 17 kB in which an agent calls tools and
 * reads the JSON they answer with. The same seed gives the same runs.
 */
export function* makeTraces(seed: number): Generator<MadeTrace> {
  const random = openRandom(seed)
  const words = openVocabulary(random)
  const agents = AGENTS.map((name) => makeAgent(name, random, words))
  for (;;) yield makeTrace(pick(agents, random), random, words)
}

function makeTrace(agent: Agent, random: Random, words: Words) {
  const startedAt = FIRST_START + Math.floor(random.next() * NINETY_DAYS_MS)
  return {
    trace_id: random.hex(32),
    agent_name: agent.name,
    manifest_hash: pick(agent.manifestHashes, random),
    session_id: `session-${random.hex(8)}`,
    task_id: `task-${random.below(TASKS)}`,
    status: random.next() < 0.85 ? 'success' : 'error',
    started_at: new Date(startedAt).toISOString(),
    duration_ms: random.below(90_000),
    input_tokens: random.below(20_000),
    output_tokens: random.below(3000),
    cost_usd: random.below(1e6) / 1e6,
    messages: makeConversation(agent, random, words),
    tools: agent.tools,
    metadata: { region: pick(REGIONS, random), user: `user-${random.below(1e5)}` },
    scores: {
      task_success: random.next() < 0.8 ? 1 : 0,
      helpfulness: random.below(101) / 100,
    },
  }
}

/** Turns and rows of a tool's answer are log-normal: most are small, some are long. */
function makeConversation(agent: Agent, random: Random, words: Words) {
  const messages: MadeMessage[] = [
    { role: 'system', content: agent.systemPrompt },
    { role: 'user', content: words(20 + random.below(60)) },
  ]
  const turns = Math.min(40, Math.max(2, Math.round(Math.exp(1.9 + 0.6 * random.normal()))))
  for (let turn = 0; turn < turns; turn++) {
    const { function: called } = pick(agent.tools, random)
    const id = `call_${random.hex(24)}`
    const args = { id: random.hex(12), query: words(4), limit: random.below(100) }
    messages.push(
      {
        role: 'assistant',
        content: random.next() < 0.5 ? words(10 + random.below(40)) : null,
        tool_calls: [
          {
            id,
            type: 'function',
            function: { name: called.name, arguments: JSON.stringify(args) },
          },
        ],
      },
      { role: 'tool', tool_call_id: id, name: called.name, content: makeToolAnswer(random, words) },
    )
  }
  messages.push({ role: 'assistant', content: words(40 + random.below(160)) })
  return messages
}

function makeToolAnswer(random: Random, words: Words) {
  const count = Math.min(60, Math.round(Math.exp(1.2 + random.normal())))
  const rows = Array.from({ length: count }, () => ({
    id: random.hex(12),
    name: words(3),
    amount: random.below(1e5) / 100,
    status: random.next() < 0.5 ? 'open' : 'closed',
    updated_at: new Date(FIRST_START + Math.floor(random.next() * NINETY_DAYS_MS)).toISOString(),
  }))
  return JSON.stringify({ ok: random.next() > 0.05, rows })
}

function makeAgent(name: string, random: Random, words: Words) {
  const tools = TOOL_VERBS.map((verb) => ({
    type: 'function',
    function: {
      name: `${verb}_${words(1)}`,
      description: words(18),
      parameters: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          query: { type: 'string', description: words(8) },
          limit: { type: 'integer' },
        },
        required: ['id'],
      },
    },
  }))
  const manifestHashes = Array.from({ length: 8 }, () => random.hex(64))
  return { name, systemPrompt: `You are a careful assistant. ${words(260)}`, tools, manifestHashes }
}

const AGENTS = ['support-bot', 'code-reviewer', 'sql-analyst', 'travel-planner', 'ops-oncall']
const TOOL_VERBS = ['search', 'get', 'update', 'list', 'create', 'cancel']
const REGIONS = ['eu', 'us', 'ap']
const TASKS = 4000
const FIRST_START = Date.UTC(2026, 0, 1)
const NINETY_DAYS_MS = 90 * 86_400_000

export type MadeTrace = ReturnType<typeof makeTrace>
export interface MadeMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly MadeToolCall[]
  readonly tool_call_id?: string
  readonly name?: string
}
export interface MadeToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
type Agent = ReturnType<typeof makeAgent>
