import type { AnswerOf } from '../../endpoint.ts'
import type { showTrace } from '../../traces/show-trace.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ago } from '../parts.ts'
import type { Versions } from './replay-dialog.ts'

type Trace = AnswerOf<typeof showTrace>

/**
 * What became of a trace after it was recorded: what people said, how it was repaired.
 * @param versions of its agent, which name those that it was repaired for
 */
export function traceHistory(
  trace: Pick<Trace, 'annotations' | 'revisions'>,
  versions: Versions,
  now: Date,
): Markup {
  const labels = new Map(versions.map((version) => [version.manifest_id, version.version_label]))
  const annotations = [...(trace.annotations ?? [])]
  const revisions = [...(trace.revisions ?? [])]
  return html`${
    annotations.length > 0 &&
    html`<section>
      <h2>What people said</h2>
      <ul class="said">
        ${annotations.map(
          (said) =>
            html`<li class="card">
              <p>
                ${said.rating !== null && html`<b>${said.rating} of 5</b> `}${said.correctness !== null && html`<b>${said.correctness}</b> `}${said.label && html`<span class="tag">${said.label}</span> `}${said.flagged_for_review && html`<span class="tag">flagged for review</span> `}<span
                  class="quiet"
                  >${ago(said.created_at, now)}</span
                >
              </p>
              ${said.notes && html`<p><bdi>${said.notes}</bdi></p>`}
              ${
                said.corrected_output &&
                html`<div class="message output">
                  <b>corrected output</b>
                  <p><bdi>${said.corrected_output.slice(0, 5000)}</bdi></p>
                </div>`
              }
            </li>`,
        )}
      </ul>
    </section>`
  }
  ${
    revisions.length > 0 &&
    html`<section>
      <h2>Repaired for other versions</h2>
      <table class="rows">
        <thead>
          <tr>
            <th>Version</th>
            <th>Repair</th>
            <th class="num">When</th>
          </tr>
        </thead>
        <tbody>
          ${revisions.map(
            ({ target_manifest_id, batch_id, created_at }) =>
              html`<tr>
                <td>
                  <a href="/console/manifests/${target_manifest_id}"
                    >${labels.get(target_manifest_id) ?? html`<code>${target_manifest_id}</code>`}</a
                  >
                </td>
                <td><a href="/console/replay/repairs/${batch_id}">Repair</a></td>
                <td class="num quiet">${ago(created_at, now)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </section>`
  }`
}
