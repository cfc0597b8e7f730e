import type { AnswerOf } from '../../endpoint.ts'
import type { listTraces } from '../../traces/list-traces.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ago, count, duration, excerpt, plural, scoreBar, verdictBadge } from '../parts.ts'
import { tracePath } from './trace-path.ts'
import { pickAll, pickBox } from './selection.ts'

type Traces = AnswerOf<typeof listTraces>['traces']

/** Traces, each with a box that selects it where `isPickable`. */
export function traceTable(traces: Traces, now: Date, isPickable: boolean): Markup {
  return html`<table class="rows traces" data-rows>
    <thead>
      <tr>
        ${isPickable && html`<th class="pick">${pickAll()}</th>`}
        <th>Verdict</th>
        <th>Input and output</th>
        <th>Agent</th>
        <th>Score</th>
        <th class="num">Took</th>
        <th class="num">Tokens</th>
        <th class="num">Started</th>
      </tr>
    </thead>
    <tbody>
      ${traces.map(
        (trace) =>
          html`<tr>
            ${isPickable && html`<td class="pick">${pickBox(trace)}</td>`}
            <td>${verdictBadge(trace.verdict, trace.needs_review ?? false)}${reasonOf(trace)}</td>
            <td class="io">
              <a data-row href="${tracePath(trace)}"
                ><bdi>${excerpt(trace.user_input_preview || trace.trace_id)}</bdi></a
              >${preview(trace)}
            </td>
            <td class="agent">
              <bdi>${trace.agent_name}</bdi>
              <p class="quiet">
                ${plural(trace.llm_call_count, 'call')} · ${plural(trace.tool_call_count, 'tool')}
              </p>
            </td>
            <td>${scoreBar(trace.eval_score)}</td>
            <td class="num">
              ${trace.status === 'running' ? 'running' : duration(trace.duration_ms)}
            </td>
            <td class="num wide">
              ${count((trace.input_tokens ?? 0) + (trace.output_tokens ?? 0))}
            </td>
            <td class="num quiet">${ago(trace.started_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function preview({ error_message, final_output_preview, status }: Traces[number]) {
  if (error_message) return html`<p class="error"><bdi>${excerpt(error_message)}</bdi></p>`
  const text = final_output_preview || (status === 'running' ? 'Still running' : 'No output')
  return html`<p><bdi>${excerpt(text)}</bdi></p>`
}

/** A good score is the reason that everybody expects. */
function reasonOf({ reason_code }: Traces[number]) {
  if (reason_code === null || reason_code === 'score.good') return ''
  return html`<p class="quiet reason">${reason_code}</p>`
}
