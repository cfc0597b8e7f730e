import type { PolicySettings } from '../../../jobs/rules/evals/decision-policy.ts'
import type { AnswerOf } from '../../endpoint.ts'
import type { previewPolicy } from '../../evals/preview-policy.ts'
import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import type { Query } from '../page.ts'
import { count, percent, plural, sendButton, verdictBadge } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'

/** What the settings would change, and the button that saves them; `save` is absent where nobody may. */
export function policyPreview(preview: Preview, project: string | undefined, save: Part): Markup {
  const { looked_at, changed, by_change, needs_review, examples, total } = preview
  return html`<section class="card would" aria-labelledby="would">
    <h2 id="would">
      ${looked_at === 0 ? 'No trace has a verdict by this policy yet' : html`<b>${count(changed)}</b> of ${plural(looked_at, 'verdict')} would change`}
    </h2>
    ${looked_at > 0 && html`<p class="quiet">${looked_at < total ? `The newest ${count(looked_at)} of ${count(total)} traces were judged again` : 'All traces of this policy were judged again'}, in memory; nothing is stored yet. In review: ${count(needs_review.before)} now, ${count(needs_review.after)} then.</p>`}
    ${
      by_change.length > 0 &&
      html`<ul class="changes">
        ${by_change.map(
          ({ from, to, count: n }) =>
            html`<li>
              ${verdictBadge(from)}<span aria-hidden="true">→</span
              ><span class="visually-hidden">becomes</span>${verdictBadge(to)}<svg
                width="100%"
                height="8"
                aria-hidden="true"
              >
                <rect class="track" width="100%" height="8" rx="4" />
                <rect
                  class="v-${to}"
                  width="${((n / looked_at) * 100).toFixed(2)}%"
                  height="8"
                  rx="4"
                /></svg
              ><b>${count(n)}</b> <span class="quiet">${percent(n, looked_at)}</span>
            </li>`,
        )}
      </ul>`
    }
    ${
      examples.length > 0 &&
      html`<details>
        <summary>
          ${examples.length < changed ? `The newest ${examples.length} of them` : 'Which ones'}
        </summary>
        <ul class="examples" data-rows>
          ${examples.map(
            ({ trace_id, from, to }) =>
              html`<li>
                <a data-row href="${tracePath({ trace_id, project })}"><bdi>${trace_id}</bdi></a>
                <span class="quiet">${from} → ${to}</span>
              </li>`,
          )}
        </ul>
      </details>`
    }
    ${save}
  </section>`
}

/** A button that makes the settings the next version. */
export function saveButton(settings: PolicySettings, owner: Query, total: number): Markup {
  const { preset, keep_at, drop_at, source_weights } = settings
  const { agent_name, project } = owner
  const body = {
    preset,
    thresholds: { keep_at, drop_at },
    source_weights,
    ...(agent_name && { agent_name }),
    ...(project && { project }),
  }
  return html`<div class="actions">
    ${sendButton('Save these settings', 'PUT /decision-policy', { body, then: '/console/jobs/{job_id}', kind: 'primary' })}
    <span class="quiet">A job then decides anew on ${plural(total, 'trace')}.</span>
  </div>`
}

type Preview = AnswerOf<typeof previewPolicy>
