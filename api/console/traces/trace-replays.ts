import type { AnswerOf } from '../../endpoint.ts'
import type { listTraces } from '../../traces/list-traces.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ago, excerpt, scoreBar, totalOf, verdictBadge } from '../parts.ts'
import { tracePath } from './trace-path.ts'

/** The traces that replays of a trace made. @param all the list of all of them */
export function traceReplays(list: AnswerOf<typeof listTraces>, all: string, now: Date): Markup {
  if (list.traces.length === 0) return html``
  return html`<section aria-labelledby="replays">
    <h2 id="replays">Replays <span class="quiet">${totalOf(list, 'trace')}</span></h2>
    <table class="rows traces" data-rows>
      <thead>
        <tr>
          <th>Verdict</th>
          <th>Output</th>
          <th>Version</th>
          <th>Score</th>
          <th class="num">Ran</th>
        </tr>
      </thead>
      <tbody>
        ${list.traces.map(
          (replay) =>
            html`<tr>
              <td>${verdictBadge(replay.verdict, replay.needs_review ?? false)}</td>
              <td class="io">
                <a data-row href="${tracePath(replay)}"
                  ><bdi
                    >${excerpt(replay.error_message || replay.final_output_preview || replay.trace_id)}</bdi
                  ></a
                >
              </td>
              <td>
                ${replay.manifest_id && html`<a href="/console/manifests/${replay.manifest_id}">${replay.version_label}</a>`}
              </td>
              <td>${scoreBar(replay.eval_score)}</td>
              <td class="num quiet">${ago(replay.started_at, now)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${list.next_cursor && html`<nav class="pager" aria-label="Further replays"><a class="button" href="${all}">All replays</a></nav>`}
  </section>`
}
