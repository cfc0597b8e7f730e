import { isObject } from '../core/reader.ts'
import type { Members } from './format.ts'

/**
 * Messages in which a single call was written as `function_call`, and its result as a message of role
 * `function`, with the calls and ids that are written today. Others are returned as they are.
 */
export function withToolCalls(messages: readonly unknown[]): readonly unknown[] {
  const open: { id: string; name: unknown }[] = []
  let count = 0
  return messages.map((message) => {
    if (!isObject(message)) return message
    const { function_call: call, ...rest } = message
    if (isObject(call) && (rest['tool_calls'] ?? null) === null) {
      const id = `function_call_${++count}`
      open.push({ id, name: call['name'] })
      return { ...rest, tool_calls: [{ id, type: 'function', function: call }] }
    }
    if (rest['role'] !== 'function') return message
    const at = open.findIndex(({ name }) => name === rest['name'])
    const [answered] = at < 0 ? [] : open.splice(at, 1)
    return { ...rest, role: 'tool', ...(answered && { tool_call_id: answered.id }) }
  })
}

/** The tools a request offers, those that it calls functions included. */
export function toolsIn({ tools, functions }: Members): unknown {
  if (tools !== undefined && tools !== null) return tools
  if (!Array.isArray(functions)) return functions
  return functions.map((each: unknown) =>
    isObject(each) ? { type: 'function', function: each } : each,
  )
}
