import type { Recorder } from './recorder.ts'

/**
 * How an attempt at a task goes: well; well after a tool failed once; to a wrong answer; to an answer
 * that nothing was looked up for; to no answer at all.
 */
export type Outcome = 'good' | 'recovered' | 'wrong' | 'hasty' | 'broken off'

export interface DemoAgent {
  readonly name: string
  readonly system: string
  readonly tools: readonly ReturnType<typeof functionTool>[]
  /** Records an attempt at task `no`; attempts of other variants differ in words. */
  readonly play: (record: Recorder, no: number, outcome: Outcome, variant: number) => void
  /** Records another turn of the conversation that `play` began. */
  readonly followUp: (record: Recorder, no: number) => void
}

/** A tool of string parameters, all required. */
export function functionTool(name: string, description: string, parameters: readonly string[]) {
  const properties = Object.fromEntries(parameters.map((each) => [each, { type: 'string' }]))
  return {
    type: 'function',
    function: {
      name,
      description,
      parameters: { type: 'object', properties, required: parameters },
    },
  }
}

export function pick<T>(items: readonly T[], no: number): T {
  return items[no % items.length] as T
}
