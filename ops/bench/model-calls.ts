import type { MadeMessage, MadeTrace } from './made-traces.ts'

/**
 * How a run is recorded. `growing`: as agents do, each call of the model with the whole conversation up to
 * it, so that 17 kB become some 130 kB. `last`: one call, whose input is all but the last message.
 */
export type Calls = 'growing' | 'last'

/** A call of the model: what it was given, and the message it answered with. */
export interface ModelCall {
  readonly input: readonly MadeMessage[]
  readonly output: MadeMessage
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost_usd: number
  /** The part of the run that was over before it and after it, from 0 to 1. */
  readonly from: number
  readonly to: number
}

/** The calls of the model in a run, in their order. */
export function modelCalls(trace: MadeTrace, calls: Calls): ModelCall[] {
  const { messages, input_tokens, output_tokens, cost_usd } = trace
  const ends = messages.flatMap(({ role }, at) => (role === 'assistant' ? [at] : []))
  const recorded = calls === 'last' ? ends.slice(-1) : ends
  return recorded.map((at, call) => ({
    input: messages.slice(0, at),
    output: messages[at] as MadeMessage,
    input_tokens: Math.floor(input_tokens / recorded.length),
    output_tokens: Math.floor(output_tokens / recorded.length),
    cost_usd: cost_usd / recorded.length,
    from: call / recorded.length,
    to: (call + 1) / recorded.length,
  }))
}

/** The value of a `--calls` option. @throws RangeError for another word */
export function readCalls(word: string): Calls {
  if (word === 'growing' || word === 'last') return word
  throw new RangeError(`--calls is growing or last, not ${word}`)
}
