import { PRESETS, resolvePolicy, TRUSTS } from '../../../jobs/rules/evals/decision-policy.ts'
import type { PolicySettings, Preset, Trust } from '../../../jobs/rules/evals/decision-policy.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { withQuery } from '../parts.ts'
import { queryOf } from './asked-policy.ts'

/** The settings of a policy as fields, whose values go into the address of the preview. */
export function policyForm(path: string, owner: Query, settings: PolicySettings): Markup {
  const { preset, keep_at, drop_at, source_weights } = settings
  const kept = Object.entries({ ...owner, preset, preview: '1' }).filter(([, value]) => value)
  return html`<section class="card policy" aria-labelledby="settings">
    <h2 id="settings">Settings</h2>
    <p class="presets">
      <span class="quiet">Start from</span> ${PRESETS.map((name) => presetLink(name))}
    </p>
    ${scale(settings)}
    <form action="${path}">
      ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <div class="fields">
        ${shareField('keep_at', 'Keep from', 'Quality from here on is kept', keep_at)}
        ${shareField('drop_at', 'Drop below', 'Quality below this is dropped', drop_at)}
      </div>
      <h3>How much each source counts</h3>
      <div class="fields">
        ${TRUSTS.map((trust) => shareField(trust, ...WORDS[trust], source_weights[trust]))}
      </div>
      <div class="actions">
        <button class="button primary">See what would change</button>
        <a class="link" href="${withQuery(path, owner)}">Back to what holds</a>
      </div>
    </form>
  </section>`

  function presetLink(name: Preset) {
    const href = withQuery(path, { ...owner, ...queryOf(resolvePolicy({ preset: name })) })
    return html`<a href="${href}" ${attributes({ 'aria-current': name === preset && 'true' })}
      >${name}</a
    > `
  }
}

function shareField(name: string, label: string, text: string, value: number) {
  return html`<label
    >${label}<input
      type="number"
      name="${name}"
      min="0"
      max="1"
      step="any"
      required
      value="${value}"
    /><small>${text}</small></label
  >`
}

/** What becomes of each quality between 0 and 1. */
function scale({ keep_at, drop_at, on_doubt }: PolicySettings) {
  const doubt = on_doubt === 'review' ? 'keep, with a review' : 'replay'
  const bands = [
    { of: 'drop', from: 0, to: Math.min(drop_at, 1), text: 'drop' },
    { of: on_doubt === 'review' ? 'repair' : 'replay', from: drop_at, to: keep_at, text: doubt },
    { of: 'keep', from: keep_at, to: 1, text: 'keep' },
  ].filter(({ from, to }) => to > from)
  // The ends are named where a bound leaves room for it.
  const marks = [
    { at: drop_at, of: drop_at > 0.05 ? 'before' : 'after' },
    { at: keep_at, of: keep_at < 0.95 ? 'after' : 'before' },
    ...(drop_at > 0.12 ? [{ at: 0, of: 'after' }] : []),
    ...(keep_at < 0.88 ? [{ at: 1, of: 'before' }] : []),
  ]
  return html`<figure class="scale">
    <svg
      width="100%"
      height="34"
      role="img"
      aria-label="${bands.map(({ text, from, to }) => `${text} from ${from} to ${to}`).join('; ')}"
    >
      ${bands.map(
        ({ of, from, to }) =>
          html`<rect
            class="v-${of}"
            x="${from * 100}%"
            width="${Math.max(0, (to - from) * 100 - 0.3)}%"
            height="10"
            rx="3"
          />`,
      )}
      ${marks.map(({ at, of }) => html`<text x="${at * 100}%" y="28" class="${of}">${at}</text>`)}
    </svg>
    <figcaption>
      ${bands.map(({ of, text }) => html`<span class="v-${of}"><i aria-hidden="true"></i>${text}</span> `)}
    </figcaption>
  </figure>`
}

const WORDS: Readonly<Record<Trust, readonly [string, string]>> = {
  human: ['People', 'Annotations and ratings'],
  verifier: ['Verifiers', 'Checks of the outcome'],
  third_party: ['Other judges', 'Judges outside of the agent'],
  custom: ['Your own scores', 'Pushed under names of your own'],
  builtin: ['Built-ins', 'Hygiene, not the outcome'],
}
