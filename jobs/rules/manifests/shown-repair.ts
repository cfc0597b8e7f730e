import { cut, isObject } from '../core/reader.ts'
import type { LlmCall, ToolCall } from '../traces/trace.ts'

/** What a repair changed, as people look at it: item by item the same places before and after. */
export interface ShownRepair {
  readonly before: ShownSide
  readonly after: ShownSide
}

export interface ShownSide {
  /** Messages and outputs; one that several LLM calls were given is there once. */
  readonly messages: readonly unknown[]
  /** Recorded calls, `{id, tool_name, args}`. */
  readonly tool_calls: readonly unknown[]
}

/**
 * What differs between the LLM calls of a trace and those of its repair. Each text is cut to 2,000
 * characters around the first difference, each item to about 4,000, and items that come after the first 32,000 are left out.
 */
export function showRepair(before: readonly LlmCall[], after: readonly LlmCall[]): ShownRepair {
  const [old, now] = [openSide(), openSide()]
  const seen = new Set<string>()
  let room = MAX_SHOWN
  for (const { list, pair } of differences(before, after)) {
    const [was, is] = [pair, pair.toReversed()].map(([each, other]) =>
      shorten(each, other, { left: MAX_ITEM }),
    )
    const text = JSON.stringify([list, was, is])
    if (seen.has(text)) continue
    seen.add(text)
    room -= text.length
    if (room < 0) break
    old[list].push(was)
    now[list].push(is)
  }
  return { before: old, after: now }
}

/** A patch keeps what it does not change, and the length of every list of messages and of calls. */
function* differences(
  before: readonly LlmCall[],
  after: readonly LlmCall[],
): Generator<Difference> {
  for (const [i, old] of before.entries()) {
    const now = after[i]
    if (!now || now === old) continue
    const messages = [...zip(old.rendered_input, now.rendered_input), [old.output, now.output]]
    for (const pair of messages) if (pair[0] !== pair[1]) yield { list: 'messages', pair }
    for (const pair of zip(old.tool_calls, now.tool_calls)) {
      if (pair[0] !== pair[1]) yield { list: 'tool_calls', pair: pair.map(withoutResult) }
    }
  }
}

function zip<T>(a: readonly T[], b: readonly T[]) {
  return a.map((each, i) => [each, b[i]] as const)
}

function withoutResult(call: ToolCall | undefined) {
  return call && { id: call.id, tool_name: call.tool_name, args: call.args }
}

/** What there is room for of a value: first what another one has not got, as a patch shares all else. */
function shorten(value: unknown, other: unknown, room: { left: number }): unknown {
  if (typeof value === 'string') {
    const text = cutAround(value, other, Math.min(MAX_TEXT, Math.max(room.left, 0)))
    room.left -= text.length
    return text
  }
  if (!Array.isArray(value) && !isObject(value)) {
    room.left -= LITERAL
    return value
  }
  const others = new Map(Array.isArray(other) || isObject(other) ? Object.entries(other) : [])
  const members = Object.entries(value)
  const isShared = ([name, member]: [string, unknown]) => others.get(name) === member
  const shown = new Map<string, unknown>()
  for (const each of [...members.filter((m) => !isShared(m)), ...members.filter(isShared)]) {
    if (room.left <= 0) break
    const [name, member] = each
    room.left -= name.length
    shown.set(name, shorten(member, others.get(name), room))
  }
  const items = members.flatMap(([name]) =>
    shown.has(name) ? [[cut(name, MAX_TEXT), shown.get(name)] as const] : [],
  )
  return Array.isArray(value) ? items.map(([, item]) => item) : Object.fromEntries(items)
}

/** The beginning of a text, or what stands around the first difference where that comes later. */
function cutAround(text: string, other: unknown, max: number) {
  if (text.length <= max || typeof other !== 'string' || text === other) return cut(text, max)
  let first = 0
  while (first < text.length && text[first] === other[first]) first++
  const context = Math.min(CONTEXT, max >> 1)
  if (first + context < max) return cut(text, max)
  const from = text.slice(first - context).replace(LOW_SURROGATE, '')
  return `\u2026${cut(from, Math.max(max - 1, 0))}`
}

function openSide(): Record<keyof ShownSide, unknown[]> {
  return { messages: [], tool_calls: [] }
}

/** All in characters. */
const MAX_TEXT = 2000
const MAX_ITEM = 4000
const MAX_SHOWN = 32_000
/** Shown before a difference. */
const CONTEXT = 200
const LOW_SURROGATE = /^[\udc00-\udfff]/
/** What a number or a word is counted for. */
const LITERAL = 8

interface Difference {
  readonly list: keyof ShownSide
  readonly pair: readonly unknown[]
}
