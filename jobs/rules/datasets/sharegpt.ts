import { isInstruction, plainText } from './messages.ts'
import type { Dropped, TrainingMessage } from './messages.ts'
import type { Toolbox } from './tools.ts'

/**
 * Turns of `human` or `observation` and of `gpt` or `function_call`, strictly by turns and beginning
 * with the former, which is all that readers of this format take. The system prompt and the tools stand beside.
 */
export function shareGptText(
  messages: readonly TrainingMessage[],
  tools: Toolbox,
): string | Dropped {
  const [first] = messages
  const system = first && isInstruction(first) ? first.content : null
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
function shareGptTurn(message: TrainingMessage) {
  const { role, tool_calls } = message
  const content = plainText(message)
  switch (role) {
    case 'system':
    case 'developer':
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
