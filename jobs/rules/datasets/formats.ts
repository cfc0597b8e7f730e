import type { Dropped, TrainingMessage } from './messages.ts'
import type { Toolbox } from './tools.ts'
import type { RowFormat } from './recipe.ts'

/**
 * The training part of a row as canonical JSON, members in order of their names, in the format asked
 * for. `openai` writes the arguments of calls as strings, `trl` as objects.
 */
export function conversationText(
  messages: readonly TrainingMessage[],
  tools: Toolbox,
  format: RowFormat,
): string | Dropped {
  if (format === 'sharegpt') return shareGptText(messages, tools)
  return `{"messages":${messagesText(messages, format)},"tools":${tools.json}}`
}

export function pairText(
  parts: { prompt: readonly TrainingMessage[]; chosen: TrainingMessage; rejected: TrainingMessage },
  tools: Toolbox,
  format: RowFormat,
) {
  const chosen = messagesText([parts.chosen], format)
  const rejected = messagesText([parts.rejected], format)
  const prompt = messagesText(parts.prompt, format)
  return `{"chosen":${chosen},"prompt":${prompt},"rejected":${rejected},"tools":${tools.json}}`
}

export function labelledText(
  parts: {
    prompt: readonly TrainingMessage[]
    completion: readonly TrainingMessage[]
    label: boolean
  },
  tools: Toolbox,
  format: RowFormat,
) {
  const completion = messagesText(parts.completion, format)
  const prompt = messagesText(parts.prompt, format)
  return `{"completion":${completion},"label":${parts.label},"prompt":${prompt},"tools":${tools.json}}`
}

/** The canonical text of one message. */
export function messageText(message: TrainingMessage, format: RowFormat) {
  const { content, name, role, tool_call_id, tool_calls, weight } = message
  let text = `{"content":${JSON.stringify(content)}`
  if (name !== undefined) text += `,"name":${JSON.stringify(name)}`
  text += `,"role":"${role}"`
  if (tool_call_id !== undefined) text += `,"tool_call_id":"${tool_call_id}"`
  if (tool_calls !== undefined) {
    const calls = tool_calls.map((call) => {
      const args = format === 'trl' ? call.canonical : JSON.stringify(call.arguments)
      const called = `{"arguments":${args},"name":${JSON.stringify(call.name)}}`
      return `{"function":${called},"id":"${call.id}","type":"function"}`
    })
    text += `,"tool_calls":[${calls.join(',')}]`
  }
  return `${text},"weight":${weight}}`
}

function messagesText(messages: readonly TrainingMessage[], format: RowFormat) {
  return `[${messages.map((message) => messageText(message, format)).join(',')}]`
}

/**
 * Turns of `human` or `observation` and of `gpt` or `function_call`, strictly by turns and beginning
 * with the former, which is all that readers of this format take. The system prompt and the tools stand beside.
 */
function shareGptText(messages: readonly TrainingMessage[], tools: Toolbox): string | Dropped {
  const system = messages[0]?.role === 'system' ? messages[0].content : null
  const turns: string[] = []
  for (const message of messages.slice(system === null ? 0 : 1)) {
    const turn = shareGptTurn(message)
    if (!turn) return { reason: 'sharegpt.unsupported' }
    if (turn.asks !== (turns.length % 2 === 0)) return { reason: 'sharegpt.alternation' }
    turns.push(
      `{"from":"${turn.from}","value":${JSON.stringify(turn.value)},"weight":${message.weight}}`,
    )
  }
  return `{"conversations":[${turns.join(',')}],"system":${JSON.stringify(system)},"tools":${JSON.stringify(tools.json)}}`
}

/** Undefined for a message the format has no word for: a later system prompt, or text beside calls. */
function shareGptTurn({ role, content, tool_calls }: TrainingMessage) {
  switch (role) {
    case 'system':
      return undefined
    case 'user':
      return { asks: true, from: 'human', value: content ?? '' }
    case 'tool':
      return { asks: true, from: 'observation', value: content ?? '' }
    case 'assistant': {
      if (!tool_calls) return { asks: false, from: 'gpt', value: content ?? '' }
      if (content !== null && content !== '') return undefined
      const calls = tool_calls.map(
        ({ name, canonical }) => `{"arguments":${canonical},"name":${JSON.stringify(name)}}`,
      )
      const [only, ...others] = calls
      const value = only !== undefined && others.length === 0 ? only : `[${calls.join(',')}]`
      return { asks: false, from: 'function_call', value }
    }
  }
}
