import { readPart, readTable, replacePart, table } from '../docs/parts.ts'
import type { Figure } from './figures.ts'

/** The part of `ops/docs/performance.md` that holds what was measured. */
const PART = 'measured'

/**
 * A document with figures in its table of what was measured: each takes the place of the row of the same
 * name, or comes behind all others, and the other rows stay.
 * @param measured when and on which machine
 */
export function addMeasured(
  document: string,
  figures: readonly Figure[],
  measured: string,
): string {
  const rows = new Map(readTable(readPart(document, PART)).map((row) => [row[0] ?? '', row]))
  for (const { what, ratio, figures: text } of figures) {
    rows.set(what, [what, ratio === null ? '' : String(ratio), text, measured])
  }
  const content = table(['what', 'ratio', 'figures', 'measured'], [...rows.values()])
  return replacePart(document, PART, content)
}
