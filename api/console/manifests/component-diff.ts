import type { Component } from '../../../jobs/rules/manifests/manifest.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, plural } from '../parts.ts'
import { sideBySide } from '../side-by-side.ts'

/** The components of a manifest beside those of another one; those that are equal come last, by name. */
export function componentDiff(
  before: readonly Component[] | undefined,
  after: readonly Component[],
): Markup {
  const old = new Map((before ?? []).map((component) => [keyOf(component), component]))
  const now = new Map(after.map((component) => [keyOf(component), component]))
  const pairs = [...new Set([...old.keys(), ...now.keys()])]
    .sort()
    .map((key) => ({ before: old.get(key), after: now.get(key) }))
  if (before === undefined) return list(after)
  const isEqual = ({ before, after }: Pair) => before?.content_hash === after?.content_hash
  const equal = pairs.flatMap((pair) => (isEqual(pair) && pair.after ? [pair.after] : []))
  const different = pairs.filter((pair) => !isEqual(pair))
  return html`${different.slice(0, MAX_COMPARED).map((pair) => compared(pair))}
  ${list(different.slice(MAX_COMPARED).flatMap(({ before, after }) => after ?? before ?? []))}
  ${
    equal.length > 0 &&
    html`<details class="equal">
      <summary>${plural(equal.length, 'component is', 'components are')} equal</summary>
      ${list(equal)}
    </details>`
  }`
}

/** Components as they are, as many as a page holds. */
function list(components: readonly Component[]) {
  const left = components.length - MAX_SHOWN
  return html`${components.slice(0, MAX_SHOWN).map((component) => shown(component))}
  ${left > 0 && html`<p class="quiet">${plural(left, 'further component')}</p>`}`
}

/** Components that are set beside each other; each takes time. */
const MAX_COMPARED = 10
const MAX_SHOWN = 100

function compared({ before, after }: Pair) {
  if (before && after) {
    return html`<article class="component">
      <h3>${nameOf(after)} ${badge('changed', 'warning')}</h3>
      ${sideBySide(textOf(before), textOf(after))}
    </article>`
  }
  if (after) return shown(after, badge('added', 'good'), 'new')
  return before && shown(before, badge('removed', 'bad'), 'gone')
}

function shown(component: Component, state?: Markup, kind = '') {
  const text = textOf(component)
  return html`<article class="component">
    <h3>${nameOf(component)} ${state}</h3>
    ${text && html`<pre class="${kind}" tabindex="0" aria-label="Content of ${component.component_name}"><bdi>${text.slice(0, 4000)}</bdi></pre>`}
  </article>`
}

function nameOf({ component_type, component_name, component_version }: Component) {
  return html`<span class="quiet">${component_type.replaceAll('_', ' ')}</span>
    <bdi>${component_name}</bdi>
    ${component_version && html`<span class="tag">${component_version}</span>`}`
}

/** What people compare: a prompt as its text, anything else as JSON. */
function textOf({ schema_json }: Component) {
  const { content, ...others } = schema_json as { content?: unknown }
  const rest = Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : ''
  if (typeof content !== 'string') {
    return content === undefined ? rest : JSON.stringify(schema_json, null, 2)
  }
  return rest ? `${content}\n\n${rest}` : content
}

function keyOf({ component_type, component_name }: Component) {
  return `${component_type} ${component_name}`
}

interface Pair {
  readonly before: Component | undefined
  readonly after: Component | undefined
}
