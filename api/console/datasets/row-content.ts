import type { ReadRow } from '../../datasets/list-rows.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { excerpt, plural } from '../parts.ts'

interface SaidMessage {
  readonly role: string
  readonly text: string
  /** The row trains it; that of a rejected turn is what it is taught against. */
  readonly part: 'given' | 'trained' | 'rejected'
}

/** The messages of a row of any type and format, those of the rejected turn of a pair left out. */
export function messagesOf(row: ReadRow): SaidMessage[] {
  const {
    system,
    messages = [],
    prompt = [],
    chosen = [],
    completion = [],
    conversations = [],
  } = row
  return [
    ...(system ? [{ role: 'system', text: system, part: 'given' as const }] : []),
    ...[...messages, ...prompt].map((message) => said(message)),
    ...[...chosen, ...completion].map((message) => said(message, 'trained')),
    ...conversations.map(({ from, value, weight }) => ({
      role: from,
      text: value,
      part: weight === 1 ? ('trained' as const) : ('given' as const),
    })),
  ]
}

/** A row as it is trained on: what is learned is marked. Long texts and long rows are cut. */
export function rowContent(row: ReadRow): Markup {
  const all = [
    ...messagesOf(row),
    ...(row.rejected ?? []).map((message) => said(message, 'rejected')),
  ]
  const left = all.length - MAX_MESSAGES
  return html`<div class="said">
    ${all.slice(0, MAX_MESSAGES).map(
      ({ role, text, part }) =>
        html`<div class="message ${CLASSES[part]}">
          <b>${role}${part !== 'given' && html` · ${part}`}</b>
          <p><bdi>${excerpt(text, MAX_TEXT)}</bdi></p>
        </div>`,
    )}
    ${left > 0 && html`<p class="quiet">${plural(left, 'further message')} ${left === 1 ? 'is' : 'are'} not shown; the download has them.</p>`}
  </div>`
}

function said(message: Message, part?: SaidMessage['part']): SaidMessage {
  const { role, content, tool_calls = [], weight } = message
  const calls = tool_calls.map(
    ({ function: { name, arguments: args } }) =>
      `${name}(${typeof args === 'string' ? args : JSON.stringify(args)})`,
  )
  const text = typeof content === 'string' ? content : content ? JSON.stringify(content) : ''
  return {
    role,
    text: [text, ...calls].filter(Boolean).join('\n'),
    part: part ?? (weight === 1 ? 'trained' : 'given'),
  }
}

const CLASSES = { given: '', trained: 'output', rejected: 'error' } as const
const MAX_MESSAGES = 40
const MAX_TEXT = 1000
type Message = NonNullable<ReadRow['messages']>[number]
