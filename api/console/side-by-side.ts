import { diffLines } from 'diff'
import type { Change } from 'diff'
import { html } from './html.ts'
import type { Markup, Part } from './html.ts'
import { plural } from './parts.ts'

/**
 * Two texts line by line beside each other, with what differs marked. Of long runs of equal lines only the
 * ends are shown, and of all lines `MAX_ROWS` at most. Texts that differ in more lines than can be compared
 * quickly are shown as wholly other ones.
 * @param titles what the two are
 */
export function sideBySide(before: string, after: string, titles: readonly [Part, Part]): Markup {
  const rows = rowsOf(compare(cut(before), cut(after)))
  const shown = rows.slice(0, MAX_ROWS)
  if (before === after) return html`<p class="quiet">Both are the same.</p>`
  return html`<table class="diff keep-table">
      <thead>
        <tr>
          ${titles.map((title) => html`<th scope="col">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${shown.map(rowMarkup)}
      </tbody>
    </table>
    ${(rows.length > MAX_ROWS || before.length > MAX_CHARS || after.length > MAX_CHARS) && html`<p class="quiet">What follows is not shown.</p>`}`
}

function compare(before: string, after: string): readonly Change[] {
  const all = (value: string, more: object) => ({
    value,
    count: 1,
    added: false,
    removed: false,
    ...more,
  })
  return (
    diffLines(before, after, { maxEditLength: MAX_EDITS }) ?? [
      all(before, { removed: true }),
      all(after, { added: true }),
    ]
  )
}

/** What was removed stands beside what was added in its place. */
function rowsOf(changes: readonly Change[]): Row[] {
  const rows: Row[] = []
  for (const [i, change] of changes.entries()) {
    const lines = linesOf(change)
    const next = changes[i + 1]
    if (!change.added && !change.removed) rows.push(...folded(lines, i, changes.length))
    else if (change.removed && next?.added) {
      const added = linesOf(next)
      const most = Math.max(lines.length, added.length)
      for (let n = 0; n < most; n++) rows.push({ before: lines[n], after: added[n] })
    } else if (change.removed) rows.push(...lines.map((before) => ({ before, after: undefined })))
    else if (!changes[i - 1]?.removed) {
      rows.push(...lines.map((after) => ({ before: undefined, after })))
    }
  }
  return rows
}

function folded(lines: readonly string[], i: number, changes: number): Row[] {
  const head = i === 0 ? 0 : CONTEXT
  const tail = i === changes - 1 ? 0 : CONTEXT
  const same = (line: string) => ({ same: line })
  if (lines.length <= head + tail + 1) return lines.map(same)
  return [
    ...lines.slice(0, head).map(same),
    { skipped: lines.length - head - tail },
    ...lines.slice(lines.length - tail).map(same),
  ]
}

function rowMarkup(row: Row) {
  if ('skipped' in row) {
    return html`<tr class="skipped">
      <td colspan="2">${plural(row.skipped, 'equal line')}</td>
    </tr>`
  }
  if ('same' in row) {
    return html`<tr>
      <td><bdi>${row.same}</bdi></td>
      <td class="again"><bdi>${row.same}</bdi></td>
    </tr>`
  }
  const { before, after } = row
  return html`<tr>
    ${
      before === undefined
        ? html`<td class="empty"></td>`
        : html`<td class="removed">
            <del><bdi>${before}</bdi></del>
          </td>`
    }
    ${
      after === undefined
        ? html`<td class="empty"></td>`
        : html`<td class="added">
            <ins><bdi>${after}</bdi></ins>
          </td>`
    }
  </tr>`
}

function linesOf({ value }: Change) {
  const lines = value.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function cut(text: string) {
  return text.slice(0, MAX_CHARS)
}

const CONTEXT = 3
const MAX_ROWS = 400
const MAX_EDITS = 1000
/** Of each text. */
const MAX_CHARS = 200_000

type Row =
  | { readonly same: string }
  | { readonly skipped: number }
  | { readonly before: string | undefined; readonly after: string | undefined }
