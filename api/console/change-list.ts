import type { AnswerOf } from '../endpoint.ts'
import type { diffManifests } from '../manifests/diff-manifests.ts'
import { html } from './html.ts'
import type { Markup } from './html.ts'
import { badge, plural } from './parts.ts'
import type { Tone } from './parts.ts'

type Change = NonNullable<AnswerOf<typeof diffManifests>['diff']>['changed_surfaces'][number]

/** What a version changed, the worst first, each with its severity as a word. */
export function changeList(changes: readonly Change[], most: number): Markup {
  if (changes.length === 0) return html`<p class="quiet">Nothing but what no manifest tells.</p>`
  const sorted = changes.toSorted((a, b) => rank(a) - rank(b))
  return html`<ul class="changes">
      ${sorted.slice(0, most).map(
        (change) =>
          html`<li>
            ${badge(change.severity, TONES[change.severity] ?? 'plain')}
            <span
              ><b>${change.component_type.replaceAll('_', ' ')}</b>
              <bdi>${cut(change.component_name)}</bdi
              >${change.new_name && html` → <bdi>${cut(change.new_name)}</bdi>`}
              <small class="quiet"
                >${change.kind.replaceAll('_', ' ')}${change.change_type === 'breaking' && ' · may break calls'}</small
              ></span
            >
          </li>`,
      )}
    </ul>
    ${sorted.length > most && html`<p class="quiet">and ${plural(sorted.length - most, 'further change')}</p>`}`
}

function rank({ severity }: Change) {
  return ['major', 'moderate', 'minor'].indexOf(severity)
}

function cut(name: string) {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name
}

const TONES: Readonly<Record<string, Tone>> = { major: 'bad', moderate: 'warning' }
