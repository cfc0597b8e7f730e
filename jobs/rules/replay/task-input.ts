import { bytesOf, openCopying } from '../core/copy-json.ts'
import type { Copying } from '../core/copy-json.ts'
import type { Message } from '../traces/trace.ts'
import { readOutput } from './recorded-output.ts'
import { readRequest, recordedTools } from './recorded-run.ts'
import type { RecordedTrace } from './recorded-run.ts'
import type { Pause } from '../core/in-steps.ts'

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

/**
 * @param pause is awaited between parts of a large input, so that others have their turn
 * @param maxBytes what its JSON text has at most; at least 128 KiB
 */
export async function makeTaskInput(
  trace: RecordedTrace,
  target: TargetManifest | null,
  pause: Pause,
  maxBytes = MAX_INPUT_BYTES,
): Promise<TaskInput> {
  const input = readInput(trace, target)
  await pause()
  const room = maxBytes - Buffer.byteLength(',"truncated":true')
  if (await cutTexts(input, Infinity, { room, pause })) return input
  return { ...(await fit(input, { room, pause })), truncated: true }
}

function readInput(trace: RecordedTrace, target: TargetManifest | null): TaskInput {
  const { text, messages, turns } = readRequest(trace)
  return {
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
}

/**
 * Cuts texts to as many characters, by powers of two, as fit. Where even the shortest do not, the lists
 * are too long, and lose items. What the user asked stays whole when it takes no more than half the room.
 */
async function fit(input: TaskInput, { room, pause }: Bounds): Promise<TaskInput> {
  const { user_input } = input
  if (user_input && user_input.length <= room / 2 && bytesOf(user_input) <= room / 2) {
    const rest = { room: room - bytesOf(user_input), pause }
    return { ...(await fit({ ...input, user_input: null }, rest)), user_input }
  }
  let best = await cutTexts(input, SHORTEST_CUT, { room, pause })
  if (!best) return shortenLists(input, { room, pause })
  let [low, high] = [0, Math.ceil(Math.log2(room / SHORTEST_CUT))]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tried = await cutTexts(input, SHORTEST_CUT << middle, { room, pause })
    if (tried) [best, low] = [tried, middle]
    else high = middle - 1
  }
  return best
}

/** The input with every text in it cut; undefined when it takes more than the room. */
async function cutTexts(
  { messages, user_turns, tool_results, ...members }: TaskInput,
  maxLength: number,
  { room, pause }: Bounds,
): Promise<TaskInput | undefined> {
  const commas = messages.length + user_turns.length + tool_results.length
  const copying = openCopying(maxLength, room - commas)
  const copied = copying.copy({ ...members, messages: [], user_turns: [], tool_results: [] })
  const lists = {
    messages: (await copyItems(messages, copying, pause)).copies,
    user_turns: (await copyItems(user_turns, copying, pause)).copies,
    tool_results: (await copyItems(tool_results, copying, pause)).copies,
  }
  return copying.isOver() ? undefined : { ...copied, ...lists }
}

/**
 * Cuts texts as short as may be, and leaves out items of lists. A list that needs less than an equal share
 * of the room leaves it to the others. Of `messages` the last ones stay, which lead to what was asked.
 */
async function shortenLists(
  { messages, user_turns, tool_results, ...members }: TaskInput,
  { room, pause }: Bounds,
): Promise<TaskInput> {
  const copying = openCopying(SHORTEST_CUT, room)
  const copied = copying.copy({ ...members, messages: [], user_turns: [], tool_results: [] })
  const left = room - copying.taken()
  const leading = <Item>(items: readonly Item[]) =>
    copyItems(items, openCopying(SHORTEST_CUT, left), pause)
  const [before, turns, results] = [
    await leading(messages.toReversed()),
    await leading(user_turns),
    await leading(tool_results),
  ]
  const share = findShare([before.wanted, turns.wanted, results.wanted], left)
  return {
    ...copied,
    messages: within(before, share).reverse(),
    user_turns: within(turns, share),
    tool_results: within(results, share),
  }
}

/** Copies items until there is no room for more. */
async function copyItems<Item>(
  items: readonly Item[],
  copying: Copying,
  pause: Pause,
): Promise<Copied<Item>> {
  const before = copying.taken()
  const [copies, ends]: [Item[], number[]] = [[], []]
  for (const item of items) {
    const copy = copying.copy(item)
    if (copying.isOver()) break
    copies.push(copy)
    // With a comma after each.
    ends.push(copying.taken() - before + copies.length)
    await pause()
  }
  return { copies, ends, wanted: copying.taken() - before + items.length }
}

/**
 * The bytes that each list may have at most so that there is room for all; what one leaves, the others
 * share.
 */
function findShare(wanted: readonly number[], room: number): number {
  let left = room
  for (const [n, bytes] of wanted.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (wanted.length - n))
    if (bytes > share) return share
    left -= bytes
  }
  return room
}

function within<Item>({ copies, ends }: Copied<Item>, maxBytes: number): Item[] {
  return copies.slice(0, ends.findLastIndex((end) => end <= maxBytes) + 1)
}

interface Copied<Item> {
  readonly copies: readonly Item[]
  /** The bytes up to the end of each. */
  readonly ends: readonly number[]
  /** By all items; where they have no room, more than that. */
  readonly wanted: number
}

interface Bounds {
  /** Bytes. */
  readonly room: number
  readonly pause: Pause
}

/** Characters that a text keeps at least; more than any name or id has. */
const SHORTEST_CUT = 1024
