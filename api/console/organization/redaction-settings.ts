import { MAX_KEPT, MAX_PATTERNS } from '../../../jobs/rules/datasets/redaction-shapes.ts'
import type { showRedaction } from '../../datasets/show-redaction.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count } from '../parts.ts'

type Settings = AnswerOf<typeof showRedaction>
type Pattern = Settings['patterns'][number]

/** Whether a form can hold the values that are left as they are: one a line, and not too many for a page. */
export function fitsForm({ keep }: Settings): boolean {
  return !keep.some((value) => /[\n\r]/.test(value)) && shownOf(keep).length === keep.length
}

/** The settings as fields, all of which are saved at once. */
export function redactionForm({ patterns, keep }: Settings, project: string | undefined): Markup {
  const empty = Math.min(MORE, MAX_PATTERNS - patterns.length)
  const rows = [...patterns, ...Array.from({ length: empty }, () => ({ name: '', pattern: '' }))]
  const sent = { patterns: [], keep: [], ...(project && { project }) }
  return html`<section class="card policy" aria-labelledby="settings">
    <h2 id="settings">Settings</h2>
    <form data-send="PUT /api/v1/redaction-settings" data-body="${JSON.stringify(sent)}">
      <fieldset class="patterns">
        <legend>Taken out besides</legend>
        <p class="quiet">Patterns of RE2 by name. A row without either is left out.</p>
        ${rows.map(patternFields)}
      </fieldset>
      <label
        >Left as it is<textarea
          class="code"
          name="keep"
          data-type="lines"
          rows="${Math.max(4, Math.min(16, keep.length + 1))}"
          spellcheck="false"
        >
${keep.join('\n')}</textarea
        ><small
          >One value a line, at most ${count(MAX_KEPT)}; compared whole, in upper or lower
          case.</small
        ></label
      >
      <p role="alert" class="error"></p>
      <div class="actions"><button class="button primary">Save</button></div>
    </form>
  </section>`
}

function patternFields({ name, pattern }: Pattern, i: number) {
  return html`<div>
    <input
      name="patterns.${i}.name"
      value="${name}"
      aria-label="Name of pattern ${i + 1}"
      placeholder="name"
      maxlength="64"
    /><input
      class="code"
      name="patterns.${i}.pattern"
      value="${pattern}"
      aria-label="Pattern ${i + 1}"
      placeholder="TCK-[0-9]{6}"
      maxlength="500"
      spellcheck="false"
    />
  </div>`
}

/** The settings for who may not change them, or not here. */
export function redactionLists({ patterns, keep }: Settings, mayWrite: boolean): Markup {
  const shown = shownOf(keep)
  return html`<section class="card policy" aria-labelledby="settings">
    <h2 id="settings">Settings</h2>
    <h3>Taken out besides</h3>
    ${
      patterns.length === 0
        ? html`<p class="quiet">No patterns of the project.</p>`
        : html`<dl class="patterns">
            ${patterns.map(
              ({ name, pattern }) =>
                html`<div>
                  <dt><bdi>${name}</bdi></dt>
                  <dd>
                    <code><bdi>${pattern}</bdi></code>
                  </dd>
                </div>`,
            )}
          </dl>`
    }
    <h3>Left as it is</h3>
    ${shown.length === 0 ? html`<p class="quiet">No value.</p>` : html`<pre class="kept" tabindex="0" aria-label="Values that are left as they are"><bdi>${shown.join('\n')}</bdi></pre>`}
    ${shown.length < keep.length && html`<p class="quiet">The first ${count(shown.length)} of ${count(keep.length)}.</p>`}
    ${mayWrite && html`<p class="quiet">There are too many values for a form, or values of several lines: they are set by <code>PUT /api/v1/redaction-settings</code>.</p>`}
  </section>`
}

/** The first values, as many as a page can hold. */
function shownOf(keep: readonly string[]): readonly string[] {
  let chars = 0
  const end = keep.findIndex((value) => (chars += value.length) > MAX_CHARS)
  return end < 0 ? keep : keep.slice(0, end)
}

/** Empty rows for further patterns. */
const MORE = 3
const MAX_CHARS = 30_000
