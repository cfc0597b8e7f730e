import { isDeepStrictEqual } from 'node:util'
import {
  toolArgumentsOf,
  toolCallIdOf,
  toolOfSpan,
  toolResultOf,
} from '../../../jobs/rules/traces/tool-spans.ts'
import type { LlmCall, Message, Span, ToolCall } from '../../../jobs/rules/traces/trace.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, duration, plural, withQuery } from '../parts.ts'
import { anchorOf, shownSpans } from './waterfall.ts'

export interface ShownContent {
  readonly spans?: readonly Span[]
  readonly llm_calls?: readonly LlmCall[]
  readonly user_input_preview: string | null
  readonly final_output_preview: string | null
  readonly error_message: string | null
}

/**
 * What went into each span and came out of it. One is seen at a time: the one that the address names, else
 * the first.
 * @param place the address of the page, and the span whose texts are shown whole
 */
export function traceContent(trace: ShownContent, place: Place): Markup {
  const { spans = [], llm_calls = [] } = trace
  const room = openRoom(place)
  const known = new Set(spans.map(({ id }) => id))
  const callsOf = Map.groupBy(llm_calls, ({ span_id }) =>
    span_id !== null && known.has(span_id) ? span_id : '',
  )
  const loose = callsOf.get('') ?? []
  const run: Section = {
    anchor: 'run',
    title: html`What went in and came out`,
    body: html`${message(room, 'input', trace.user_input_preview)}${trace.error_message ? message(room, 'error', trace.error_message, 'error') : message(room, 'output', trace.final_output_preview, 'output')}${callList(room, loose)}`,
  }
  const sections = [
    run,
    ...shownSpans(spans).map((span) =>
      sectionOf(room, span, callsOf.get(span.id) ?? [], llm_calls),
    ),
  ]
  return html`<div class="content" tabindex="0" role="region" aria-label="Content">
    ${sections.map(
      ({ anchor, title, body }, i) =>
        html`<section id="${anchor}" class="${i === 0 && 'first'}">
          <h3>${title}</h3>
          ${body}
        </section>`,
    )}
    ${room.isFull() && html`<p class="quiet">Further texts are not shown here; the interface has them.</p>`}
  </div>`
}

function sectionOf(
  room: Room,
  span: Span,
  calls: readonly LlmCall[],
  all: readonly LlmCall[],
): Section {
  const anchor = anchorOf(span)
  const here = room.at(span.id, anchor)
  const title = html`<i class="kind t-${span.span_type}" aria-hidden="true"></i
    ><bdi>${span.name}</bdi> <span class="quiet">${span.span_type}</span>`
  const parts = [
    span.span_type === 'tool' ? toolRun(here, span, all) : previews(here, span, calls),
    callList(here, calls),
  ]
  const isEmpty = parts.every(({ text }) => text === '')
  return {
    anchor,
    title,
    body: html`${parts}${isEmpty && html`<p class="quiet">Nothing was recorded of what went in and out.</p>`}${attributeList(here, span)}`,
  }
}

function previews(room: Room, { input_preview, output_preview }: Span, calls: readonly LlmCall[]) {
  if (calls.length > 0) return html``
  return html`${message(room, 'input', input_preview)}${message(room, 'output', output_preview, 'output')}`
}

function toolRun(room: Room, span: Span, calls: readonly LlmCall[]) {
  const asked = callOfTool(span, calls)
  const result = toolResultOf(span) ?? asked?.result ?? span.output_preview
  return html`${message(room, 'arguments', toolArgumentsOf(span) ?? asked?.args ?? span.input_preview)}${message(room, 'result', result, span.status === 'error' ? 'error' : 'output')}`
}

/** The call that asked for a run of a tool: by its id, else the only one of its tool. */
function callOfTool(span: Span, calls: readonly LlmCall[]): ToolCall | undefined {
  const id = toolCallIdOf(span)
  const tool = toolOfSpan(span)
  const all = calls.flatMap((call) => call.tool_calls)
  const named = all.filter(({ tool_name }) => tool_name === tool)
  return (
    all.find((call) => id !== null && call.id === id) ?? (named.length === 1 ? named[0] : undefined)
  )
}

/** Calls one after the other. Of messages that the call before was given, too, only the number is told. */
function callList(room: Room, calls: readonly LlmCall[]): Markup {
  let before: readonly Message[] = []
  const further = calls.length - MAX_CALLS
  return html`${calls.slice(0, MAX_CALLS).map((call) => {
    const repeated = countRepeated(before, call.rendered_input)
    before = call.rendered_input
    return html`<p class="quiet">
        ${[call.model_name, tokensOf(call), call.latency_ms !== null && duration(call.latency_ms), call.status === 'error' && 'failed'].filter(Boolean).join(' · ')}
      </p>
      ${repeated > 0 && html`<p class="quiet">${plural(repeated, 'message')} as in the call before</p>`}
      ${call.rendered_input.slice(repeated, repeated + MAX_MESSAGES).map((given) => html`${message(room, given.role, given.content)}${toolCalls(room, given)}`)}
      ${call.rendered_input.length > repeated + MAX_MESSAGES && html`<p class="quiet">${plural(call.rendered_input.length - repeated - MAX_MESSAGES, 'further message')}</p>`}
      ${message(room, 'answer', call.output['content'], 'output')}
      ${call.tool_calls.slice(0, MAX_MESSAGES).map(({ tool_name, args }) => message(room, `calls ${tool_name}`, args, 'output'))}
      ${call.tool_calls.length > MAX_MESSAGES && html`<p class="quiet">${plural(call.tool_calls.length - MAX_MESSAGES, 'further tool call')}</p>`}`
  })}${further > 0 && html`<p class="quiet">${plural(further, 'further call')}</p>`}`
}

function countRepeated(before: readonly Message[], now: readonly Message[]) {
  const different = before.findIndex((message, i) => !isDeepStrictEqual(message, now[i]))
  return different === -1 ? Math.min(before.length, now.length) : different
}

function toolCalls(room: Room, { tool_calls }: Message) {
  return (tool_calls ?? [])
    .slice(0, MAX_MESSAGES)
    .map((call) => message(room, `called ${call.function.name}`, call.function.arguments))
}

function attributeList(room: Room, { attributes }: Span) {
  const names = Object.keys(attributes).length
  if (names === 0) return ''
  return html`<details>
    <summary>${plural(names, 'attribute')}</summary>
    <pre><bdi>${room.cut(JSON.stringify(attributes, null, 2))}</bdi></pre>
  </details>`
}

/** One text with who said it; nothing where there is none. */
function message(room: Room, role: string, content: unknown, kind = ''): Markup {
  const text = textOf(content)
  if (text === '' || !room.takesText()) return html``
  const isCode = typeof content !== 'string' && !Array.isArray(content)
  const shown = html`<bdi>${room.cut(text)}</bdi>`
  return html`<div class="message ${kind}">
    <b>${role}</b>${isCode ? html`<pre>${shown}</pre>` : html`<p>${shown}</p>`}
  </div>`
}

/** What a message says: its text, the texts of its parts, or its JSON. */
function textOf(content: unknown): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content, null, 2) ?? ''
  return content.map((part: unknown) => partText(part)).join('\n')
}

function partText(part: unknown) {
  if (typeof part === 'string') return part
  const { text } = (part ?? {}) as { text?: unknown }
  return typeof text === 'string' ? text : (JSON.stringify(part) ?? '')
}

function tokensOf({ input_tokens, output_tokens }: LlmCall) {
  if (input_tokens === null && output_tokens === null) return ''
  return `${count(input_tokens)} in · ${count(output_tokens)} out`
}

/** How much a page shows of long texts, and where more of them is. */
function openRoom(
  { path, whole }: Place,
  id = '',
  anchor = 'run',
  budget = { left: PAGE_CHARS, texts: PAGE_TEXTS },
): Room {
  const isWhole = whole !== undefined && whole === id
  return {
    takesText: () => budget.texts-- > 0,
    isFull: () => budget.texts < 0,
    at: (id, anchor) => openRoom({ path, whole }, id, anchor, budget),
    cut(text) {
      const room = isWhole ? WHOLE_CHARS : Math.max(MIN_CHARS, Math.min(TEXT_CHARS, budget.left))
      const shown = text.slice(0, room)
      budget.left -= shown.length
      if (shown.length === text.length) return text
      const [address = '', query] = path.split('?')
      const more = withQuery(address, Object.fromEntries(new URLSearchParams(query)), { whole: id })
      const rest = `${count(text.length - shown.length)} more characters`
      return html`${shown}…
      ${isWhole || id === '' ? html`<span class="quiet">${rest}</span>` : html`<a class="link" href="${more}#${anchor}">Show ${rest}</a>`}`
    },
  }
}

/** Of one text; of all texts of a page together; of each when those are used up; of a span shown whole. */
const TEXT_CHARS = 3000
const PAGE_CHARS = 40_000
const MIN_CHARS = 200
/** Texts of a page, however short. */
const PAGE_TEXTS = 2000
const WHOLE_CHARS = 1_000_000
const MAX_MESSAGES = 50
const MAX_CALLS = 200

interface Place {
  /** The address of the page, with its query but for `whole`. */
  readonly path: string
  /** The id of the span whose texts are not cut. */
  readonly whole: string | undefined
}
interface Room {
  readonly at: (id: string, anchor: string) => Room
  readonly cut: (text: string) => Markup | string
  /** Whether the page has room for one more text. */
  readonly takesText: () => boolean
  readonly isFull: () => boolean
}
interface Section {
  readonly anchor: string
  readonly title: Markup
  readonly body: Markup
}
