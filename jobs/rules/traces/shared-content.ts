import { isObject } from '../core/reader.ts'
import { isSameJson } from '../core/same-json.ts'
import type { TraceContent } from './trace.ts'

/**
 * The JSON of a content in which each distinct message stands once, and each distinct tool list and
 * response format. The calls are as they are in `contentText`, with numbers for four of their members:
 *
 * - `rendered_input`: pairs of indices into `messages`, the first of a run and the one after its last. The
 *   calls of a growing conversation have `[0,3]`, `[0,5]`, `[0,7]`. What is no list stands as it is.
 * - `output`: an index into `messages`, because it is usually one of those of the next call.
 * - `tools` and `response_format`: indices into `schemas`.
 *
 * A member that is absent or null stays so, and a call that is no object stands as it is.
 */
interface SharedContent extends TraceContent {
  readonly messages: readonly unknown[]
  readonly schemas: readonly unknown[]
}

/** A part of a text that is being written. */
export interface Piece {
  readonly text: string
  /** How many characters of `contentText` it stands for; what is shared counts where it is used. */
  readonly whole: number
}

/** Writes a content with what repeats once. Equal contents give equal texts. */
export function* sharedPieces({ spans, llm_calls }: TraceContent): Generator<Piece> {
  const shared = yield* shareCalls(llm_calls)
  yield beside('{"messages":[')
  for (const text of shared.messages.pieces()) yield beside(text)
  yield beside('],"schemas":[')
  for (const text of shared.schemas.pieces()) yield beside(text)
  yield { text: '],"spans":[', whole: '{"spans":['.length }
  for (const [i, span] of spans.entries()) yield pieceOf(after(i, textOf(span)))
  yield pieceOf('],"llm_calls":[')
  for (const [i, { kept, saved }] of shared.calls.entries()) {
    const text = after(i, textOf(kept))
    yield { text, whole: text.length + saved }
  }
  yield pieceOf(']}')
}

/** Yields pieces without a text between its steps, so that others can have their turn. */
function* shareCalls(llm_calls: TraceContent['llm_calls']): Generator<Piece, SharedCalls> {
  const [messages, schemas] = [new SharedList(), new SharedList()]
  const calls: SharedCall[] = llm_calls.map((call) => ({
    kept: isObject(call) ? { ...call } : call,
    saved: 0,
  }))
  let last: Prompt = { messages: [], indices: [] }
  for (const call of calls) {
    if (!isObject(call.kept)) continue
    const { rendered_input: prompt } = call.kept
    if (Array.isArray(prompt)) {
      last = { messages: prompt, indices: yield* shareMessages(prompt, last, messages) }
      replace(call, 'rendered_input', rangesOf(last.indices), messages.lengthOf(last.indices))
    }
    shareMember(call, 'tools', schemas)
    shareMember(call, 'response_format', schemas)
    yield NOTHING
  }
  // After all prompts, so that nothing stands between their messages.
  for (const call of calls) {
    shareMember(call, 'output', messages)
    yield NOTHING
  }
  return { messages, schemas, calls }
}

/** Finds most messages of a growing conversation in the prompt of the call before, at the same place. */
function* shareMessages(
  prompt: readonly unknown[],
  last: Prompt,
  messages: SharedList,
): Generator<Piece, number[]> {
  const indices: number[] = []
  for (const [i, message] of prompt.entries()) {
    const known = last.indices[i]
    if (known !== undefined && isSameJson(message, last.messages[i])) {
      indices.push(known)
      continue
    }
    indices.push(messages.indexOf(message))
    yield NOTHING
  }
  return indices
}

function shareMember(call: SharedCall, name: string, list: SharedList) {
  const value = isObject(call.kept) ? call.kept[name] : undefined
  if (!isGiven(value)) return
  const index = list.indexOf(value)
  replace(call, name, index, list.lengthOf([index]) - BRACKETS)
}

/** @param length of the JSON that the member has in `contentText` */
function replace(call: SharedCall, name: string, by: number | number[], length: number) {
  ;(call.kept as Record<string, unknown>)[name] = by
  call.saved += length - String(by).length - (typeof by === 'number' ? 0 : BRACKETS)
}

function rangesOf(indices: readonly number[]) {
  const ranges: number[] = []
  for (const index of indices) {
    if (ranges.at(-1) === index) ranges[ranges.length - 1] = index + 1
    else ranges.push(index, index + 1)
  }
  return ranges
}

/** Values of which each is kept once. */
class SharedList {
  private readonly texts: string[] = []
  private readonly known = new Map<string, number>()

  indexOf(value: unknown): number {
    const text = textOf(value)
    const known = this.known.get(text)
    if (known !== undefined) return known
    this.known.set(text, this.texts.length)
    return this.texts.push(text) - 1
  }

  /** Of the JSON of a list of these values. */
  lengthOf(indices: readonly number[]) {
    const commas = Math.max(0, indices.length - 1)
    return indices.reduce((sum, i) => sum + (this.texts[i] as string).length, BRACKETS + commas)
  }

  *pieces() {
    for (const [i, text] of this.texts.entries()) yield after(i, text)
  }
}

/**
 * Opens what `sharedPieces` wrote. Calls refer to the same messages, tool lists and response formats, so
 * that nobody may change these in place.
 * @throws TypeError for what it did not write
 */
export function* openShared(stored: unknown): Generator<void, TraceContent> {
  const { messages, schemas, spans, llm_calls } = stored as SharedContent
  for (const call of llm_calls) {
    if (isObject(call)) openCall(call, messages, schemas)
    yield
  }
  return { spans, llm_calls }
}

function openCall(
  call: Record<string, unknown>,
  messages: readonly unknown[],
  schemas: readonly unknown[],
) {
  const { rendered_input: ranges, output, tools, response_format: format } = call
  // Members that are there keep their place.
  if (Array.isArray(ranges)) call['rendered_input'] = itemsOf(messages, ranges)
  if (isGiven(output)) call['output'] = itemOf(messages, output)
  if (isGiven(tools)) call['tools'] = itemOf(schemas, tools)
  if (isGiven(format)) call['response_format'] = itemOf(schemas, format)
}

function isGiven(value: unknown) {
  return value !== undefined && value !== null
}

function itemsOf(list: readonly unknown[], ranges: readonly unknown[]) {
  const [from, to] = ranges
  if (ranges.length === 2) return rangeOf(list, from, to)
  const items: unknown[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    for (const item of rangeOf(list, ranges[i], ranges[i + 1])) items.push(item)
  }
  return items
}

function rangeOf(list: readonly unknown[], from: unknown, to: unknown) {
  if (!isIndex(from, list) || !Number.isInteger(to)) throw new TypeError(DAMAGED)
  const items = list.slice(from, to as number)
  if (items.length !== (to as number) - from) throw new TypeError(DAMAGED)
  return items
}

function itemOf(list: readonly unknown[], index: unknown) {
  if (!isIndex(index, list)) throw new TypeError(DAMAGED)
  return list[index]
}

function isIndex(given: unknown, list: readonly unknown[]): given is number {
  return Number.isInteger(given) && (given as number) >= 0 && (given as number) < list.length
}

/** As in a list, where JSON has no text for undefined. */
function textOf(value: unknown) {
  return JSON.stringify(value) ?? 'null'
}

function after(index: number, text: string) {
  return index === 0 ? text : `,${text}`
}

/** What `contentText` has too. */
function pieceOf(text: string): Piece {
  return { text, whole: text.length }
}

/** What `contentText` does not have. */
function beside(text: string): Piece {
  return { text, whole: 0 }
}

const NOTHING = beside('')
/** Characters around a list. */
const BRACKETS = 2
const DAMAGED = 'A call refers to a message or a schema that the content does not have'

interface SharedCalls {
  readonly messages: SharedList
  readonly schemas: SharedList
  readonly calls: readonly SharedCall[]
}

interface SharedCall {
  /** The call as it is written. */
  readonly kept: unknown
  /** How many characters shorter that is than the call. */
  saved: number
}

interface Prompt {
  readonly messages: readonly unknown[]
  /** Of each message in the shared list. */
  readonly indices: readonly number[]
}
