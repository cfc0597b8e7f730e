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
  if (before === undefined) return html`${after.map((component) => shown(component))}`
  const isEqual = ({ before, after }: Pair) => before?.content_hash === after?.content_hash
  const equal = pairs.flatMap((pair) => (isEqual(pair) && pair.after ? [pair.after] : []))
  return html`${pairs.filter((pair) => !isEqual(pair)).map((pair) => compared(pair))}
  ${
    equal.length > 0 &&
    html`<details class="equal">
      <summary>${plural(equal.length, 'component is', 'components are')} equal</summary>
      ${equal.map((component) => shown(component))}
    </details>`
  }`
}

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
