import { cut, isObject } from '../core/reader.ts'
import type { Message } from '../traces/trace.ts'
import { readOutput } from './recorded-output.ts'
import { readRequest, recordedTools } from './recorded-run.ts'
import type { RecordedTrace } from './recorded-run.ts'

/** What a runner is given to execute a trace again. Wire names throughout. */
export interface TaskInput {
  /** What the user asked, whole where it is known; null where the trace does not tell. */
  readonly user_input: string | null
  readonly agent_name: string
  readonly session_id: string | null
  readonly turn_index: number | null
  /** The recorded conversation up to and with the message that asked. */
  readonly messages: readonly Message[]
  /** All messages of the user from then on, for runners that play the user. */
  readonly user_turns: readonly Message[]
  /** What tools answered, in order, for runners that play the tools. */
  readonly tool_results: readonly ToolResult[]
  readonly original_output: string | null
  /** The version to run as; null where the batch has none. */
  readonly target_manifest: TargetManifest | null
  /** Texts were cut, or items of lists left out, to fit `MAX_INPUT_BYTES`. */
  readonly truncated?: true
}

export interface ToolResult {
  readonly tool_name: string
  readonly args: unknown
  /** Null when it was not recorded. */
  readonly result: unknown
  readonly status: 'success' | 'error'
}

export interface TargetManifest {
  readonly manifest_id: string
  readonly manifest_hash: string
  readonly version_label: string
}

/** Of the JSON text. */
export const MAX_INPUT_BYTES = 1 << 20

/** @param maxBytes what its JSON text has at most; at least 128 KiB */
export function makeTaskInput(
  trace: RecordedTrace,
  target: TargetManifest | null,
  maxBytes = MAX_INPUT_BYTES,
): TaskInput {
  const { text, messages, turns } = readRequest(trace)
  const input: TaskInput = {
    user_input: text,
    agent_name: trace.agent_name,
    session_id: trace.session_id,
    turn_index: trace.turn_index,
    messages,
    user_turns: turns,
    tool_results: recordedTools(trace).map(({ tool, args, result, failed }) => ({
      tool_name: tool,
      args: args ?? null,
      result,
      status: failed ? 'error' : 'success',
    })),
    original_output: readOutput(trace),
    target_manifest: target,
  }
  return fits(input, maxBytes) ? input : { ...fit(input, maxBytes), truncated: true }
}

/**
 * Cuts texts to as many characters, by powers of two, as fit. Where even the shortest do not, the lists
 * are too long, and lose items. What the user asked stays whole when it takes no more than half the room.
 */
function fit(input: TaskInput, maxBytes: number): TaskInput {
  const isKept = bytesOf(input.user_input) <= maxBytes / 2
  const cutTo = (length: number): TaskInput => ({
    ...cutTexts(input, length),
    ...(isKept && { user_input: input.user_input }),
  })
  let best = cutTo(SHORTEST_CUT)
  if (!fits(best, maxBytes)) return shortenLists(best, maxBytes)
  let [low, high] = [0, Math.ceil(Math.log2(maxBytes / SHORTEST_CUT))]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tried = cutTo(SHORTEST_CUT << middle)
    if (fits(tried, maxBytes)) [best, low] = [tried, middle]
    else high = middle - 1
  }
  return best
}

/**
 * Each list has a quarter of the room that `user_input` leaves. Of `messages` the last ones stay, which
 * lead to what was asked.
 */
function shortenLists(input: TaskInput, maxBytes: number): TaskInput {
  const room = Math.floor((maxBytes - bytesOf(input.user_input)) / 4)
  return {
    ...input,
    messages: leading(input.messages.toReversed(), room).reverse(),
    user_turns: leading(input.user_turns, room),
    tool_results: leading(input.tool_results, room),
  }
}

function leading<Item>(items: readonly Item[], maxBytes: number): Item[] {
  let bytes = 0
  const end = items.findIndex((item) => (bytes += bytesOf(item) + 1) > maxBytes)
  return end === -1 ? [...items] : items.slice(0, end)
}

/** The same value with every text in it cut; names of members are left as they are. */
function cutTexts<Value>(value: Value, maxLength: number): Value
function cutTexts(value: unknown, maxLength: number): unknown {
  if (typeof value === 'string') return cut(value, maxLength)
  if (Array.isArray(value)) return value.map((item: unknown) => cutTexts(item, maxLength))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, cutTexts(member, maxLength)]),
  )
}

function fits(input: TaskInput, maxBytes: number) {
  return bytesOf(input) <= maxBytes - Buffer.byteLength(',"truncated":true')
}

function bytesOf(value: unknown) {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Characters that a text keeps at least; more than any name or id has. */
const SHORTEST_CUT = 1024
