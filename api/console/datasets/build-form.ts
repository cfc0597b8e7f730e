import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import { DEDUPES, ROW_FORMATS, ROW_STYLES } from '../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType } from '../../../jobs/rules/datasets/recipe.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'

interface BuiltDataset {
  readonly id: string
  readonly dataset_type: DatasetType
  readonly training_target_agent: string | null
}

/** Which traces a version is made of, how they become rows, and how those are dealt to the splits. */
export function buildDialog({
  id,
  dataset_type: type,
  training_target_agent,
}: BuiltDataset): Markup {
  return html`<dialog id="build" aria-labelledby="build-title">
    <h2 id="build-title">Build a version</h2>
    <form
      class="form"
      data-send="POST /api/v1/datasets/${id}/build"
      data-then="/console/datasets/${id}/versions/{version_number}"
    >
      <label
        >Agent<input
          name="filters.agent_name"
          maxlength="256"
          placeholder="${training_target_agent ?? 'all agents'}"
      /></label>
      <fieldset class="picks">
        <legend>Verdicts</legend>
        ${VERDICTS.map(
          (verdict) =>
            html`<label
              ><input${attributes({ type: 'checkbox', name: 'filters.verdicts', value: verdict, 'data-type': 'each', checked: type !== 'sft' || verdict === 'keep' || verdict === 'repair' })} />
              ${verdict}</label
            >`,
        )}
      </fieldset>
      <div class="side-by-side">
        ${number('filters.min_eval_score', 'Least quality', { min: 0, max: 1, step: 0.05 })}
        ${number('filters.max_rows', 'Most rows', { min: 1, step: 1 })}
        ${number('options.max_tokens', 'Most tokens a row', { min: 1, step: 1 })}
      </div>
      <div class="side-by-side">
        ${number('split.train', 'Train', { min: 0, max: 1, step: 0.05, value: 0.9 })}
        ${number('split.validation', 'Validation', { min: 0, max: 1, step: 0.05, value: 0.1 })}
        ${number('split.test', 'Test', { min: 0, max: 1, step: 0.05, value: 0 })}
      </div>
      <div class="side-by-side">
        ${pick('options.format', 'Format', type === 'sft' ? ROW_FORMATS : ROW_FORMATS.filter((name) => name !== 'sharegpt'))}
        ${pick('options.rows', 'A row is a', type === 'dpo' ? ['conversation'] : ROW_STYLES)}
        ${pick('options.dedupe', 'Duplicates', DEDUPES)}
      </div>
      <label class="check"
        ><input type="checkbox" name="options.redact" value="default" data-type="each" /> Take
        personal data and secrets out of the rows</label
      >
      <label class="check"
        ><input type="checkbox" name="options.redact" value="custom" data-type="each" /> Take out
        what the <a class="link" href="/console/organization/redaction">own patterns</a> find</label
      >
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Build</button
        ><button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}

function number(
  name: string,
  label: string,
  bounds: { min: number; max?: number; step: number; value?: number },
) {
  return html`<label
    >${label}<input${attributes({ type: 'number', name, 'data-type': 'number', ...bounds })}
  /></label>`
}

function pick(name: string, label: string, options: readonly string[]) {
  return html`<label
    >${label}<select name="${name}">
      ${options.map((option) => html`<option>${option}</option>`)}
    </select></label
  >`
}
