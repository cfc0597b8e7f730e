import { hash } from 'node:crypto'
import { messageText } from './formats.ts'
import { isInstruction, mediaOf } from './messages.ts'
import type { Conversation, TrainingMessage } from './messages.ts'
import type { Toolbox } from './tools.ts'

/** One trace's way through a task. */
export interface Attempt extends Tried, Conversation {
  readonly tools: Toolbox
  /** How many instructions its messages begin with. */
  readonly start: number
  /** Attempts of one group had the same tools and instructions, and are in one split. */
  readonly group: string
  /** For each message behind the instructions, a hash of all from there up to and with it. */
  readonly prefixes: readonly string[]
  /** Characters of its messages as JSON. */
  readonly length: number
}

/** What is known of the trace of an attempt. */
export interface Tried {
  readonly trace_id: string
  /** The trace it replays; null when it is no replay. */
  readonly source_trace_id: string | null
  /** Index in the order of trace ids. */
  readonly index: number
  /** Index in `SPLITS`. */
  readonly splitIndex: number
  readonly quality: number
}

export function makeAttempt(
  { index, splitIndex, quality, trace_id, source_trace_id }: Tried,
  { messages, leftOut }: Conversation,
  tools: Toolbox,
): Attempt {
  const start = messages.findIndex((message) => !isInstruction(message))
  const texts = messages.map(textOf)
  // Tools that were only seen to be called say nothing of what could have been called.
  const declared = tools.from !== 'seen' ? [...tools.texts.values()].sort() : null
  let prefix = ''
  const prefixes = texts.slice(start).map((text) => (prefix = digest(prefix + text)))
  return {
    index,
    splitIndex,
    quality,
    trace_id,
    source_trace_id,
    messages,
    leftOut,
    tools,
    start,
    group: digest(JSON.stringify([splitIndex, declared, texts.slice(0, start)])),
    prefixes,
    length: texts.reduce((sum, text) => sum + text.length, 0),
  }
}

function textOf(message: TrainingMessage) {
  return messageText({ ...message, weight: 0 }, COMPARED_AS) + mediaOf(message)
}

function digest(text: string) {
  return hash('sha256', text, 'base64').slice(0, 22)
}

/** Two conversations are the same whatever the spelling of their arguments. */
const COMPARED_AS = { format: 'trl', reasoning: 'drop' } as const
