import { attributes, html } from './html.ts'
import type { Markup, Part } from './html.ts'
import type { Query } from './page.ts'

/** A verdict with its sign, since colour alone says nothing to some. */
export function verdictBadge(verdict: string | null, needsReview = false): Markup {
  const word = verdict ?? 'none'
  return html`<span class="badge v-${word}"
    ><i aria-hidden="true">${SIGNS[word]}</i
    >${WORDS[word] ?? word}${needsReview && html`<small>review</small>`}</span
  >`
}

/** The state of a job, a build, a delivery or another thing that goes through states. */
export function stateBadge(state: string, tone = TONES[state] ?? 'plain'): Markup {
  return html`<span class="badge state tone-${tone}"
    ><i aria-hidden="true"></i>${state.replaceAll('_', ' ')}</span
  >`
}

/** A word in a colour: `good`, `bad`, `warning`, `busy` or `plain`. */
export function badge(word: Part, tone: Tone = 'plain'): Markup {
  return html`<span class="badge tone-${tone}">${word}</span>`
}

/** A share between 0 and 1 as a short bar with its number. */
export function scoreBar(value: number | null, label = 'Score'): Markup {
  if (value === null) return NOTHING
  const width = Math.max(2, value * 44).toFixed(1)
  return html`<span class="score"
    ><svg width="44" height="6" role="img" aria-label="${label} ${value.toFixed(2)}">
      <rect class="track" width="44" height="6" rx="3" />
      <rect class="fill ${levelOf(value)}" width="${width}" height="6" rx="3" /></svg
    >${value.toFixed(2)}</span
  >`
}

/** How a score looks: below 0.4 and 0.7 lie the bounds of the default policy. */
export function levelOf(value: number) {
  if (value < 0.4) return 'bad'
  return value < 0.7 ? 'middling' : 'good'
}

/** What is said where there is nothing to show, with the one next action. */
export function emptyState(title: string, text: Part, action?: Part): Markup {
  return html`<section class="notice">
    <p class="notice-sign" aria-hidden="true">∅</p>
    <h2>${title}</h2>
    <p>${text}</p>
    ${action && html`<div class="next">${action}</div>`}
  </section>`
}

/** A command to be pasted, with a button that copies it. */
export function commandLine(command: string): Markup {
  return html`<div class="command">
    <pre tabindex="0" aria-label="Command">${command}</pre>
    <button type="button" class="button small" data-copy>Copy</button>
  </div>`
}

/** A call of the interface by curl; `$KEY` stands for the key. */
export function curlLine(address: string, request: `${string} /${string}`, body?: object): Markup {
  const [method, path] = request.split(' ') as [string, string]
  const sent = body
    ? ` \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`
    : ''
  const verb = method === (body ? 'POST' : 'GET') ? '' : ` -X ${method}`
  return commandLine(
    `curl${verb} ${address}/api/v1${path} \\\n  -H "Authorization: Bearer $KEY"${sent}`,
  )
}

/** How long ago something was, with the exact time for who points at it. */
export function ago(time: Date | null | undefined, now: Date): Markup {
  if (!time) return NOTHING
  return html`<time datetime="${time.toISOString()}" title="${time.toUTCString()}"
    >${agoOf(now.getTime() - time.getTime())}</time
  >`
}

function agoOf(ms: number) {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const say = (n: number, unit: string) => (ms < 0 ? `in ${n} ${unit}` : `${n} ${unit} ago`)
  if (seconds < 60) return say(seconds, 's')
  if (seconds < 3600) return say(Math.round(seconds / 60), 'min')
  if (seconds < 86_400) return say(Math.round(seconds / 3600), 'h')
  return say(Math.round(seconds / 86_400), 'd')
}

export function duration(ms: number | null | undefined): string {
  // Clocks of clients differ: some runs end before they begin.
  if (ms === null || ms === undefined || Number.isNaN(ms) || ms < 0) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.round(minutes / 1440)} d`
}

export function count(n: number | null | undefined): string {
  return n === null || n === undefined ? '–' : n.toLocaleString('en-US')
}

/** `1 call`, `2 calls`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** How many a list has in all: `1 trace`, `10,000+ traces`. */
export function totalOf(
  { total, total_is_capped = false }: { total: number | null; total_is_capped?: boolean },
  one: string,
  many = `${one}s`,
): string {
  if (total === null) return `more ${many} than can be counted quickly`
  return total_is_capped ? `${count(total)}+ ${many}` : plural(total, one, many)
}

/** The beginning of a text that is shown on one line. */
export function excerpt(text: string, chars = 160): string {
  return text.length > chars ? `${text.slice(0, chars)}…` : text
}

/** The end of an id, since those that are made within a minute begin alike. */
export function shortId(id: string): string {
  return id.slice(-8)
}

/** A share as people say it: `< 1 %`, `12 %`. */
export function percent(n: number, of: number): string {
  const share = of === 0 ? 0 : (n / of) * 100
  return share > 0 && share < 1 ? '< 1 %' : `${Math.round(share)} %`
}

/** An amount with its unit; bytes as kB, MB or GB of 1000. */
export function amount(n: number | null | undefined, unit: string | null | undefined): string {
  if (n === null || n === undefined) return '–'
  if (unit !== 'bytes') return unit ? `${count(n)} ${unit}` : count(n)
  if (n < 1e6) return `${count(Math.ceil(n / 1e3))} kB`
  return n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(2)} GB`
}

/** An address with some members of its query changed; what is undefined or empty is left out. */
export function withQuery(path: string, query: Query, change: Query = {}): string {
  const members = Object.entries({ ...query, ...change }).filter(([, value]) => value)
  const text = new URLSearchParams(members as [string, string][]).toString()
  return text ? `${path}?${text}` : path
}

/** Keeps a form to the project that its page shows, if it shows one. */
export function hiddenProject(project: string | undefined): Markup {
  return html`${project && html`<input type="hidden" name="project" value="${project}" />`}`
}

/** The links of a list that is read in pages by a cursor. */
export function pager(path: string, query: Query, nextCursor: string | null | undefined): Markup {
  const { cursor } = query
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<a class="button" href="${withQuery(path, query, { cursor: undefined })}">Newest</a>`}${nextCursor && html`<a class="button" rel="next" href="${withQuery(path, query, { cursor: nextCursor })}">Older</a>`}
  </nav>`
}

/**
 * A choice of a filter, which is taken as soon as it is made.
 * @param none how it is said that nothing is chosen
 */
export function choice(
  name: string,
  label: string,
  options: readonly (string | { readonly value: string; readonly text: string })[],
  chosen = '',
  none = `${label}: any`,
): Markup {
  const all = [{ value: '', text: none }, ...options]
  return html`<label
    ><span class="visually-hidden">${label}</span
    ><select name="${name}" data-submit>
      ${all.map((option) => {
        const { value, text } =
          typeof option === 'string' ? { value: option, text: option } : option
        return html`<option${attributes({ value, selected: value === chosen })}>${text}</option>`
      })}
    </select></label
  >`
}

/** Facts about a thing, each with its name; those without a value are left out. */
export function facts(given: Readonly<Record<string, Part>>): Markup {
  const shown = Object.entries(given).filter(
    ([, value]) => value !== null && value !== undefined && value !== false && value !== '',
  )
  return html`<dl class="facts">
    ${shown.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

/** Links to the forms of one page, the present one marked. */
export function tabs(
  label: string,
  links: readonly { readonly text: Part; readonly href: string; readonly isCurrent: boolean }[],
  beside?: Part,
): Markup {
  return html`<div class="tabs">
    <nav aria-label="${label}">
      ${links.map(({ text, href, isCurrent }) => html`<a href="${href}" ${isCurrent && html` aria-current="page"`}>${text}</a>`)}
    </nav>
    ${beside && html`<div class="tabs-beside">${beside}</div>`}
  </div>`
}

/** A button that sends a request and then shows the page anew, or another one; `key` presses it, too. */
export function sendButton(
  text: Part,
  request: `${string} /${string}`,
  {
    body,
    then,
    confirm,
    key,
    kind = '',
  }: {
    body?: object
    then?: string
    confirm?: string
    key?: string
    kind?: 'primary' | 'danger' | 'small' | ''
  } = {},
): Markup {
  const [method, path] = request.split(' ') as [string, string]
  return html`<button
    type="button"
    class="button ${kind}"
    ${attributes({
      'data-send': `${method} /api/v1${path}`,
      'data-body': body && JSON.stringify(body),
      'data-then': then,
      'data-confirm': confirm,
      'data-key': key,
    })}
  >
    ${text}${key !== undefined && html`<kbd>${key}</kbd>`}
  </button>`
}

export type Tone = 'good' | 'bad' | 'warning' | 'busy' | 'plain'

/** Where there is no value. */
const NOTHING = html`<span class="quiet" aria-label="none">–</span>`

const SIGNS: Readonly<Record<string, string>> = {
  keep: '✓',
  repair: '✎',
  replay: '↻',
  drop: '✕',
  none: '·',
}
const WORDS: Readonly<Record<string, string>> = { none: 'not judged' }
const TONES: Readonly<Record<string, Tone>> = {
  succeeded: 'good',
  success: 'good',
  delivered: 'good',
  active: 'good',
  resolved: 'good',
  passed: 'good',
  accepted: 'good',
  ready: 'good',
  completed: 'good',
  published: 'good',
  failed: 'bad',
  error: 'bad',
  lost: 'bad',
  dead: 'bad',
  rejected: 'bad',
  open: 'bad',
  blocked: 'bad',
  running: 'busy',
  building: 'busy',
  pending: 'busy',
  processing: 'busy',
  claimed: 'busy',
  attempting: 'busy',
  retrying: 'warning',
  retry_wait: 'warning',
  partial: 'warning',
  cancelling: 'warning',
  released: 'warning',
  draft: 'warning',
  warned: 'warning',
  needs_review: 'warning',
}
