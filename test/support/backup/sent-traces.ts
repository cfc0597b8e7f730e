/**
 * Traces whose texts and members are what storing and moving could change. Members are given as JSON where
 * no literal has them: `__proto__`, a number that is no number of JavaScript.
 */
export function oddTraces(skill: { readonly name: string; readonly hash: string }) {
  const texts = ODD_TEXTS.map((text, i) => ({
    ...conversation(`odd-${i}`, text),
    user_input_preview: text,
    metadata: { [text.slice(0, 60)]: text },
    session_metadata: { text },
  }))
  const values = ODD_VALUES.map((json, i) => ({
    ...conversation(`value-${i}`, json),
    metadata: { value: JSON.parse(json) as unknown },
    spans: [{ id: 's1', name: 'odd', span_type: 'tool', attributes: JSON.parse(`{"v":${json}}`) }],
    llm_calls: [callOf('arguments', { args: JSON.parse(json) as unknown, result: json })],
  }))
  const skilled = {
    ...conversation('skilled', 'refund please'),
    active_skills: [skill],
    skills_offered_in_prompt: [skill.name],
    skills_loaded_by_agent: [skill.name],
    scores: [{ name: 'skill-use', value: 1, source: 'human', identifier: 'anna', span_id: 's1' }],
  }
  return [...texts, ...values, skilled, { trace_id: 'bare', agent_name: 'shop' }]
}

/**
 * Small traces of a project, by three agents in sessions and tasks, of which every fifth says what the one
 * before it said, every seventh calls another agent and every eleventh failed.
 */
export function plainTraces(count: number, seed: number, project: string) {
  return Array.from({ length: count }, (_, i) => {
    const said = `request ${seed}-${i % 5 === 4 ? i - 1 : i}`
    const agent = AGENTS[i % AGENTS.length]
    return {
      ...conversation(`plain-${seed}-${i}`, said),
      project,
      agent_name: agent,
      session_id: `session-${seed}-${i % 17}`,
      turn_index: i % 4,
      task_id: `task-${i % 23}`,
      user_id: `user-${i % 9}`,
      environment: i % 2 ? 'production' : 'staging',
      tags: [`batch-${seed}`, ...(i % 3 ? ['odd'] : [])],
      started_at: new Date(BEGIN + i * 61_000 + seed).toISOString(),
      duration_ms: 100 + i,
      ...(i % 7 === 0 && { spans: [handoff(agent ?? '')] }),
      ...(i % 11 === 0 && { status: 'error', error_message: `broken ${i}`, error_code: 'E1' }),
      ...(i % 2 === 0 && { scores: { reward: (i % 10) / 10, polite: i % 3 === 0 } }),
    }
  })
}

/** A trace of one turn with the agent `shop`. */
export function conversation(trace_id: string, said: string) {
  return { trace_id, agent_name: 'shop', llm_calls: [callOf(said)] }
}

function callOf(said: string, call?: { args: unknown; result: unknown }) {
  return {
    model_name: 'gpt-4o',
    span_id: 's1',
    rendered_input: [{ role: 'user', content: said }],
    output: { role: 'assistant', content: `About "${said}": thanks "you"` },
    input_tokens: 12,
    output_tokens: 7,
    cost_usd: 0.000_123,
    ...(call && { tool_calls: [{ tool_name: 'search', ...call }] }),
  }
}

function handoff(agent: string) {
  const attributes = { 'gen_ai.agent.name': 'helper', parent_agent: agent }
  return { id: 'h1', span_type: 'agent', name: 'helper', attributes }
}

const AGENTS = ['shop', 'clerk', 'Zeta agent']
const BEGIN = Date.parse('2026-10-01T10:00:00.007Z')

const ODD_TEXTS = [
  'NUL \0 within',
  '\ud800 alone',
  'alone \udfff',
  '\udc00\ud800 the wrong way round',
  '\u{1F600} whole',
  '\\u0000 spelled, \\ and "quotes"',
  'lines\r\n\u2028\u2029\u007f\u0085',
  '__proto__',
  '',
  ' ',
  'x'.repeat(20_000),
  '{"kind":"end","counts":{}}\n{"kind":"trace"}',
]
const ODD_VALUES = [
  '{"__proto__":{"polluted":true},"constructor":1,"toString":null}',
  '{"10":1,"2":2,"b":3,"a":4,"01":5}',
  '{"":"","\\u0000":1,"\\ud800":2,"\\ud83d\\ude00":3}',
  '[-0,0,1e21,1e-7,5e-324,1.7976931348623157e308,9007199254740993,0.1]',
  '[[],{},null,true,[[[[]]]]]',
  '{"kind":"trace","z":{"b":1,"a":{"d":1,"c":2}}}',
]
