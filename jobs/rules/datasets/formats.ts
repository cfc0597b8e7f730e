import { plainText } from './messages.ts'
import type { Dropped, TrainingMessage } from './messages.ts'
import type { Options } from './recipe.ts'
import { shareGptText } from './sharegpt.ts'
import type { Toolbox } from './tools.ts'

/** What a row trains: its lists of messages by their member, and whether a kto row is a good one. */
export interface RowParts {
  readonly lists: Readonly<Partial<Record<ListName, readonly TrainingMessage[]>>>
  readonly label?: boolean
}
export type ListName = 'messages' | 'prompt' | 'chosen' | 'rejected' | 'completion'

/** How messages are written. */
export type Writing = Pick<Options, 'format' | 'reasoning'>

/**
 * The training part of a row as canonical JSON, members in order of their names, in the format asked
 * for. `openai` writes the arguments of calls as strings, `trl` as objects; only `openai` keeps parts
 * of contents, refusals and developers apart.
 */
export function rowText(
  { lists, label }: RowParts,
  tools: Toolbox,
  writing: Writing,
): string | Dropped {
  const said = Object.values(lists).flat()
  if (writing.format !== 'openai' && said.some(({ hasMedia }) => hasMedia)) {
    return { reason: 'invalid.content' }
  }
  if (writing.format === 'sharegpt') return shareGptText(said, tools)
  const members: Record<string, string> = { tools: tools.json }
  if (label !== undefined) members['label'] = String(label)
  for (const [name, messages] of Object.entries(lists)) {
    members[name] = `[${messages.map((message) => messageText(message, writing)).join(',')}]`
  }
  // Not joined: that would copy all texts once more.
  let text = ''
  for (const name of Object.keys(members).sort())
    text += `${text === '' ? '{' : ','}"${name}":${members[name]}`
  return `${text}}`
}

/** The canonical text of one message. */
export function messageText(message: TrainingMessage, writing: Writing) {
  const { name, parts, reasoning, refusal, tool_call_id, tool_calls, weight } = message
  const isOpenAi = writing.format === 'openai'
  const role = message.role === 'developer' && !isOpenAi ? 'system' : message.role
  const content = isOpenAi ? message.content : plainText(message)
  let text = `{"content":${isOpenAi && parts ? `[${parts.join(',')}]` : JSON.stringify(content)}`
  if (name !== undefined) text += `,"name":${JSON.stringify(name)}`
  if (reasoning !== undefined && keepsReasoning(writing)) {
    text += `,"reasoning_content":${JSON.stringify(reasoning)}`
  }
  if (refusal !== undefined && isOpenAi) text += `,"refusal":${JSON.stringify(refusal)}`
  text += `,"role":"${role}"`
  if (tool_call_id !== undefined) text += `,"tool_call_id":"${tool_call_id}"`
  if (tool_calls !== undefined) {
    const calls = tool_calls.map((call) => {
      const args = isOpenAi ? JSON.stringify(call.arguments) : call.canonical
      const called = `{"arguments":${args},"name":${JSON.stringify(call.name)}}`
      return `{"function":${called},"id":"${call.id}","type":"function"}`
    })
    text += `,"tool_calls":[${calls.join(',')}]`
  }
  return `${text},"weight":${weight}}`
}

/** The members of messages that few rows have. */
export const RARE_MEMBERS = ['content_parts', 'refusal', 'reasoning_content'] as const
export type RareMember = (typeof RARE_MEMBERS)[number]

/** The rare members that the messages of a row have as it is written. */
export function rareMembersOf(
  { lists }: RowParts,
  writing: Writing,
): Readonly<Record<RareMember, boolean>> {
  const said = Object.values(lists).flat()
  const isOpenAi = writing.format === 'openai'
  return {
    content_parts: isOpenAi && said.some(({ parts }) => parts !== undefined),
    refusal: isOpenAi && said.some(({ refusal }) => refusal !== undefined),
    reasoning_content:
      keepsReasoning(writing) && said.some(({ reasoning }) => reasoning !== undefined),
  }
}

/** What a row does not tell of its messages, by a word of `losses`: how many of them it concerns. */
export function lossesOf({ lists }: RowParts, writing: Writing) {
  const said = Object.values(lists).flat()
  const hasReasoning = ({ reasoning }: TrainingMessage) => reasoning !== undefined
  const isNamed = ({ name, role }: TrainingMessage) => name !== undefined && role !== 'tool'
  const losesName = writing.format === 'sharegpt' ? isNamed : () => false
  return {
    reasoning_dropped: keepsReasoning(writing) ? 0 : said.filter(hasReasoning).length,
    members_dropped: said.filter((message) => message.hasOthers || losesName(message)).length,
  }
}

/** Whether rows tell what the assistant thought. */
export function keepsReasoning({ format, reasoning }: Writing) {
  return reasoning === 'keep' && format !== 'sharegpt'
}
