import { diffLines, diffWordsWithSpace } from 'diff'
import type { Change } from 'diff'
import { html } from './html.ts'
import type { Markup, Part } from './html.ts'

/** Of each text; what is behind it is not compared. */
const MAX_CHARS = 20_000
/** Of texts that differ by more, no differences are looked for. */
const MAX_EDITS = 1500
/** Milliseconds for the differences of two texts; what is not found by then is shown as changed as a whole. */
const MAX_MS = 50
/** Equal lines that are shown around a difference. */
const CONTEXT = 3

/**
 * Two texts beside each other, line by line, with the words that differ marked. Long equal parts are left out.
 * @param titles what the two are
 */
export function sideBySide(
  before: string,
  after: string,
  titles: readonly [Part, Part] = ['Before', 'After'],
): Markup {
  const [old, now] = [before.slice(0, MAX_CHARS), after.slice(0, MAX_CHARS)]
  const until = performance.now() + MAX_MS
  const changes = diffLines(old, now, { maxEditLength: MAX_EDITS, timeout: MAX_MS }) ?? [
    { value: old, removed: true, added: false, count: 0 },
    { value: now, removed: false, added: true, count: 0 },
  ]
  const isCut = old.length < before.length || now.length < after.length
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Before and after">
    <table class="diff">
      <thead>
        <tr>
          ${titles.map((title) => html`<th scope="col">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rowsOf(changes, until)}
      </tbody>
    </table>
    ${isCut && html`<p class="quiet">Compared are the first ${MAX_CHARS.toLocaleString('en-US')} characters.</p>`}
  </div>`
}

function rowsOf(changes: readonly Change[], until: number) {
  const rows: Markup[] = []
  for (let i = 0; i < changes.length; i++) {
    const change = changes[i] as Change
    const next = changes[i + 1]
    if (change.removed && next?.added) {
      rows.push(pair(change.value, next.value, until))
      i++
    } else if (change.removed) rows.push(row(change.value, '', 'gone'))
    else if (change.added) rows.push(row('', change.value, 'new'))
    else rows.push(equal(change.value, i === 0, i === changes.length - 1))
  }
  return rows
}

function pair(before: string, after: string, until: number) {
  const timeout = until - performance.now()
  const words =
    timeout > 0
      ? diffWordsWithSpace(before, after, { maxEditLength: MAX_EDITS, timeout })
      : undefined
  if (!words) return row(before, after, 'gone new')
  const side = (isOther: (change: Change) => boolean, mark: (text: string) => Markup) =>
    words.flatMap((change) => {
      if (isOther(change)) return []
      return change.added || change.removed ? mark(change.value) : change.value
    })
  return row(
    html`${side(
      ({ added }) => added,
      (text) => html`<del>${text}</del>`,
    )}`,
    html`${side(
      ({ removed }) => removed,
      (text) => html`<ins>${text}</ins>`,
    )}`,
    'gone new',
  )
}

/** Equal lines as far as they are near a difference. */
function equal(text: string, isFirst: boolean, isLast: boolean) {
  const lines = text.replace(/\n$/, '').split('\n')
  const head = isFirst ? 0 : CONTEXT
  const tail = isLast ? 0 : CONTEXT
  const hidden = lines.length - head - tail
  if (hidden <= 2 || (isFirst && isLast)) return row(text, text, '')
  const above = lines.slice(0, head).join('\n')
  const below = tail > 0 ? lines.slice(-tail).join('\n') : ''
  return html`${above && row(above, above, '')}
    <tr class="hidden">
      <td colspan="2">${hidden} equal lines</td>
    </tr>
    ${below && row(below, below, '')}`
}

function row(before: Markup | string, after: Markup | string, kind: string) {
  return html`<tr class="${kind}">
    <td><bdi>${before}</bdi></td>
    <td><bdi>${after}</bdi></td>
  </tr>`
}
