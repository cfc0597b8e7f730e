import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'

/**
 * Reads the options of a bench from its command line.
 * @param sizes by its name, the usual value of each number and the one of `--smoke`, with which a bench
 * runs whole in a few seconds and its figures mean nothing
 * @param more options that are no numbers
 * @throws RangeError for what is not a number
 */
export function readOptions<
  const Sizes extends Readonly<Record<string, readonly [usual: number, smoke: number]>>,
  const More extends NonNullable<ParseArgsConfig['options']> = {},
>(sizes: Sizes, more = {} as More) {
  const numbers = Object.keys(sizes).map((name) => [name, { type: 'string' }] as const)
  const { values } = parseArgs({
    options: {
      smoke: { type: 'boolean', default: false },
      ...Object.fromEntries(numbers),
      ...more,
    },
  })
  const given: Readonly<Record<string, unknown>> = values
  const read = Object.entries(sizes).map(([name, [usual, smoke]]) => {
    const value = Number(given[name] ?? (given['smoke'] ? smoke : usual))
    if (Number.isFinite(value)) return [name, value]
    throw new RangeError(`--${name} is a number, not ${String(given[name])}`)
  })
  return { ...given, ...Object.fromEntries(read) } as Options<Sizes, More>
}

type Options<Sizes, More extends NonNullable<ParseArgsConfig['options']>> = {
  readonly [Name in keyof Sizes]: number
} & ReturnType<
  typeof parseArgs<{ options: More & { smoke: { type: 'boolean'; default: false } } }>
>['values']
