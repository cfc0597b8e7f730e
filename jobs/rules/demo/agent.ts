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
  /** The model of each release. */
  readonly models: Readonly<Record<string, string>>
  /** Components of its manifest beside model, prompt and tools. */
  readonly components?: readonly object[]
  /** Whether its manifest declares everything that it may use. */
  readonly is_closed_world?: boolean
  /** Records an attempt at task `no`; attempts of other variants differ in words. */
  readonly play: (record: Recorder, no: number, outcome: Outcome, variant: number) => void
  /** Records another turn of the conversation that `play` began. */
  readonly followUp: (record: Recorder, no: number) => void
}

/** Two releases, the newer one on a smaller model. */
export const LARGE_THEN_SMALL = { v1: 'example-large-2', v2: 'example-small-3' } as const

/**
 * A tool; of the parameters all are required.
 * @param parameters names, of what are texts, or JSON Schemas by name
 * @param optional of further parameters
 */
export function functionTool(
  name: string,
  description: string,
  parameters: readonly string[] | Schemas,
  optional: Schemas = {},
) {
  const required: Schemas = isNames(parameters)
    ? Object.fromEntries(parameters.map((each) => [each, { type: 'string' }]))
    : parameters
  return {
    type: 'function',
    function: {
      name,
      description,
      parameters: {
        type: 'object',
        properties: { ...required, ...optional },
        required: Object.keys(required),
      },
    },
  }
}

function isNames(parameters: readonly string[] | Schemas): parameters is readonly string[] {
  return Array.isArray(parameters)
}

/** One of the items that looks drawn and is always the same for a number and a purpose. */
export function draw<T>(items: readonly T[], no: number, purpose: number): T {
  let mixed = Math.imul(no, 0x9e3779b1) + Math.imul(purpose, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return pick(items, (mixed ^ (mixed >>> 16)) >>> 0)
}

export function pick<T>(items: readonly T[], no: number): T {
  return items[no % items.length] as T
}

type Schemas = Readonly<Record<string, object>>
