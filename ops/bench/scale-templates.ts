import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { openRandom, openVocabulary } from './random.ts'
import type { Words } from './random.ts'

export const AGENTS = [
  'support-bot',
  'code-reviewer',
  'sql-analyst',
  'travel-planner',
  'ops-oncall',
]
export const TEMPLATES = 1000

/**
 * Traces of about 2.5 kB that all others of the scale bench are copies of, made by the rules that requests
 * go through. One in ten failed, one in four is of staging, one in fifty was made up.
 */
export function makeTemplates(): TraceRow[] {
  const words = openVocabulary(openRandom(7))
  const agents = AGENTS.map((name) => makeAgent(name, words))
  return Array.from({ length: TEMPLATES }, (_, n) => {
    const agent = agents[n % agents.length] as Agent
    const given = {
      trace_id: `template-${n}`,
      agent_name: agent.name,
      status: n % 10 === 3 ? 'error' : 'success',
      environment: n % 4 === 1 ? 'staging' : 'production',
      source_type: n % 50 === 7 ? 'synthetic' : 'production',
      tags: ['common'],
      llm_calls: [makeCall(agent, n, words)],
    }
    const read = readTrace(given, { traceId: () => '', now: new Date() })
    if ('faults' in read) throw new Error(read.faults[0]?.message)
    return toTraceRow(read.trace, 'shared')
  })
}

function makeAgent(name: string, words: Words) {
  const tools = ['search', 'get', 'update'].map((verb) => ({
    type: 'function',
    function: {
      name: `${verb}_${name.replace('-', '_')}`,
      description: words(10),
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  }))
  return { name, tools, prompt: `You are ${name}. ${words(60)}` }
}

function makeCall({ tools, prompt }: Agent, n: number, words: Words) {
  const name = tools[n % tools.length]?.function.name
  const id = `call_${n}`
  const called = { name, arguments: JSON.stringify({ id: `row-${n}` }) }
  const rendered_input = [
    { role: 'system', content: prompt },
    { role: 'user', content: words(30) },
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: called }] },
    {
      role: 'tool',
      tool_call_id: id,
      name,
      content: JSON.stringify({ ok: true, note: words(20) }),
    },
  ]
  const output = { role: 'assistant', content: words(60) }
  return {
    model_name: 'model-1',
    rendered_input,
    output,
    tools,
    input_tokens: 700,
    output_tokens: 90,
  }
}

type Agent = ReturnType<typeof makeAgent>
