import type { Source } from './source.ts'

/** Shorter repetitions are not counted. */
const MIN_LINES = 6

/** Lines of code that stand in the same order in two or more places. */
export interface Duplicate {
  /** Lines of code, so without comments, blank lines and imports. */
  readonly lines: number
  /** Two or more, `path:line` of the first line of each. */
  readonly places: readonly string[]
}

/**
 * Blocks of code that stand twice or more, the longest first, and how many lines of the sources are
 * part of one, the first place of each included.
 *
 * A block is as long as it can be: with one more line before or after it, it would have fewer places.
 * Its places do not overlap. It is left out when blocks that are as long or longer cover all of it.
 */
export function findDuplicates(sources: readonly Source[]) {
  const lines = joinSources(sources)
  const covered = new Set<number>()
  const duplicates: Duplicate[] = []
  const blocks = findBlocks(lines).sort((a, b) => b.length - a.length || first(a) - first(b))
  for (const { starts, length } of blocks) {
    const all = starts.flatMap((start) => Array.from({ length }, (_, i) => start + i))
    if (all.every((i) => covered.has(i))) continue
    for (const i of all) covered.add(i)
    duplicates.push({ lines: length, places: starts.map((start) => lines[start]?.place ?? '') })
  }
  return { duplicates, duplicatedLines: covered.size }
}

/** All code in one row; what ends a file is unlike any line. */
function joinSources(sources: readonly Source[]): Line[] {
  return sources.flatMap(({ path, code }) => [
    ...code.map(({ text, line }) => ({ text, place: `${path}:${line}` })),
    { text: `\n${path}`, place: path },
  ])
}

function findBlocks(lines: readonly Line[]): Block[] {
  const windows = lines.keys().take(Math.max(0, lines.length - MIN_LINES))
  const alike = Map.groupBy(windows, (start) =>
    lines
      .slice(start, start + MIN_LINES)
      .map(({ text }) => text)
      .join('\n'),
  )
  return [...alike.values()].flatMap((starts) => growBlock(lines, { starts, length: MIN_LINES }))
}

/** The longest blocks that begin as this one does; where its places go on differently, it splits. */
function growBlock(lines: readonly Line[], { starts, length }: Block): Block[] {
  if (starts.length < 2) return []
  const byNext = Map.groupBy(starts, (start) => lines[start + length]?.text)
  const longer = [...byNext.values()].flatMap((same) =>
    growBlock(lines, { starts: same, length: length + 1 }),
  )
  const before = new Set(starts.map((start) => lines[start - 1]?.text))
  const apart = withoutOverlap(starts, length)
  const isWhole = byNext.size > 1 && before.size > 1 && apart.length > 1
  return isWhole ? [{ starts: apart, length }, ...longer] : longer
}

function withoutOverlap(starts: readonly number[], length: number) {
  return starts.reduce<number[]>((kept, start) => {
    const end = (kept.at(-1) ?? -Infinity) + length
    return start < end ? kept : [...kept, start]
  }, [])
}

function first({ starts }: Block) {
  return starts[0] as number
}

interface Line {
  readonly text: string
  readonly place: string
}

interface Block {
  /** Where it begins in the row of all lines, ascending. */
  readonly starts: readonly number[]
  readonly length: number
}
