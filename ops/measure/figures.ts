import { findCycles } from './cycles.ts'
import { findDuplicates } from './duplicates.ts'
import type { Duplicate } from './duplicates.ts'
import type { Source } from './source.ts'

/** A function with more lines is listed. */
export const LONG_FUNCTION_LINES = 60
/** Its functions are not listed: a benchmark is a script that one reads from start to end. */
const BENCHMARKS = 'ops/bench/'

export interface Figures {
  /** Lines a file. */
  readonly files: Spread
  /** Lines a function; a function that holds others counts their lines as well. */
  readonly functions: Spread
  /** The longest first. */
  readonly longFunctions: readonly LongFunction[]
  /** Exported names a file; a file without any counts as 0. */
  readonly exports: Spread
  /** Each as the paths along it; the last path is the first one again. */
  readonly cycles: readonly (readonly string[])[]
  readonly casts: number
  readonly duplicates: readonly Duplicate[]
  readonly duplicatedLines: number
  /** Comment lines per line that is not blank, 0 to 1. */
  readonly commentShare: number
}

/** A percentile is the smallest value with at least that share of the values at or below it. */
export interface Spread {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly max: number
  /** Where the first of the largest stands; empty when the count is 0. */
  readonly maxAt: string
}

export interface LongFunction {
  /** `path:line` */
  readonly place: string
  readonly name: string
  readonly lines: number
}

/** Figures of these files alone: other files of the checkout make no cycle or duplicate with them. */
export function figuresOf(sources: readonly Source[]): Figures {
  const functions = sources.flatMap(({ path, functions }) =>
    functions.map(({ name, line, lines }) => ({ place: `${path}:${line}`, name, lines })),
  )
  return {
    files: spread(sources.map(({ path, lines }) => ({ value: lines, at: path }))),
    functions: spread(
      functions.map(({ place, name, lines }) => ({ value: lines, at: `${place} ${name}` })),
    ),
    longFunctions: functions
      .filter(({ place, lines }) => lines > LONG_FUNCTION_LINES && !place.startsWith(BENCHMARKS))
      .sort((a, b) => b.lines - a.lines),
    exports: spread(sources.map(({ path, exports }) => ({ value: exports, at: path }))),
    cycles: findCycles(new Map(sources.map(({ path, imports }) => [path, imports]))),
    casts: sum(sources.map(({ casts }) => casts)),
    ...findDuplicates(sources),
    commentShare:
      sum(sources.map(({ commentLines }) => commentLines)) /
      Math.max(1, sum(sources.map(({ nonBlankLines }) => nonBlankLines))),
  }
}

function spread(items: readonly { value: number; at: string }[]): Spread {
  const values = items.map(({ value }) => value).sort((a, b) => a - b)
  const percentile = (p: number) => values[Math.ceil((p / 100) * values.length) - 1] ?? 0
  const max = percentile(100)
  return {
    count: values.length,
    p50: percentile(50),
    p90: percentile(90),
    max,
    maxAt: items.find(({ value }) => value === max)?.at ?? '',
  }
}

function sum(values: readonly number[]) {
  return values.reduce((total, value) => total + value, 0)
}
