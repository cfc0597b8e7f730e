import { parseJson } from '../core/parse-json.ts'
import { isObject } from '../core/reader.ts'
import { openLines } from '../core/waiting-lines.ts'
import type { Message } from '../traces/trace.ts'
import { trainingJson } from '../core/training-json.ts'

export interface TrainingCall {
  /** `call_1`, `call_2`, ... in order, so that equal conversations give equal rows. */
  readonly id: string
  readonly name: string
  /** JSON text: as the model wrote it, or canonical where it came parsed. */
  readonly arguments: string
  readonly canonical: string
  readonly parsed: Readonly<Record<string, unknown>>
}

/** Gives calls their ids and finds the call that a tool's message answers, each once. */
export function openCallBook() {
  const byId = openLines<string, TrainingCall>()
  const byName = openLines<string | undefined, TrainingCall>()
  const answered = new Set<TrainingCall>()
  let count = 0
  return {
    open({ id, function: called }: GivenCall): TrainingCall | undefined {
      const read = readArguments(called.arguments)
      if (!read) return undefined
      const call = { id: `call_${++count}`, name: called.name, ...read }
      if (id !== undefined && id !== null) byId.join(id, call)
      // Under no name as well, for answers that give none.
      for (const name of [call.name, undefined]) byName.join(name, call)
      return call
    },
    /** By id; without one the first call that waits, of that name when one is given. */
    answer(id: string | undefined, name: string | undefined) {
      const next = () => (id === undefined ? byName.take(name) : byId.take(id))
      let call = next()
      while (call && answered.has(call)) call = next()
      if (call) answered.add(call)
      return call
    },
  }
}

function readArguments(given: unknown) {
  if (given === undefined || given === null || given === '') return NO_ARGUMENTS
  const parsed = typeof given === 'string' ? parseJson(given) : given
  if (!isObject(parsed)) return undefined
  const canonical = trainingJson(parsed)
  if (canonical === undefined) return undefined
  return { arguments: typeof given === 'string' ? given : canonical, canonical, parsed }
}

/** `function_call` is how a single call was written before there were several. */
export function callsOf({ tool_calls, function_call: single }: Message): readonly GivenCall[] {
  if (tool_calls && tool_calls.length > 0) return tool_calls
  return isObject(single) && typeof single['name'] === 'string'
    ? [{ function: { name: single['name'], arguments: single['arguments'] } }]
    : []
}

export function areRead(
  calls: readonly (TrainingCall | undefined)[],
): calls is readonly TrainingCall[] {
  return calls.every((call) => call !== undefined)
}

const NO_ARGUMENTS = { arguments: '{}', canonical: '{}', parsed: {} }

export type CallBook = ReturnType<typeof openCallBook>
type GivenCall = {
  readonly id?: string
  readonly function: { readonly name: string; readonly arguments: unknown }
}
