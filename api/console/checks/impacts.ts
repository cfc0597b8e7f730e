import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import type { AnswerOf } from '../../endpoint.ts'
import type { showCheck } from '../../regression/show-check.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, count, plural } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'
import { NEEDS } from './needed.ts'

type Check = Pick<AnswerOf<typeof showCheck>, 'impacts' | 'total_traces_analyzed' | 'project_id'>
type Impact = NonNullable<Check['impacts']>[number]

/** What the candidate changes, which traces use it, and what each change asks of them. */
export function impactList({
  impacts,
  total_traces_analyzed: total,
  project_id: project,
}: Check): Markup | undefined {
  if (!impacts || impacts.length === 0) return undefined
  return html`<section aria-labelledby="changes">
    <h2 id="changes">What the candidate changes, and which traces use it</h2>
    <ol class="impacts">
      ${impacts.slice(0, MAX_IMPACTS).map((impact) => impactOf(impact, total ?? 0, project))}
    </ol>
    ${impacts.length > MAX_IMPACTS && html`<p class="quiet">and ${impacts.length - MAX_IMPACTS} further changes</p>`}
  </section>`
}

function impactOf(impact: Impact, total: number, project: string) {
  const { severity, surface_name, explanation, affected_trace_count: n, eval_breakdown } = impact
  const kind = impact.surface_change_type.replaceAll('_', ' ')
  return html`<li class="card">
    <div class="impact-head">
      ${badge(`${severity} risk`, SEVERITIES[severity])} <b><bdi>${surface_name}</bdi></b>
      <span class="quiet">${kind}</span>
    </div>
    ${usersOf(impact, total)}
    <p><bdi>${explanation.slice(0, 400)}</bdi></p>
    ${n > 0 && html`<p class="quiet">${plural(eval_breakdown.passing_affected, 'passed', 'passed')}, ${plural(eval_breakdown.failing_affected, 'failed', 'failed')}, ${plural(eval_breakdown.unscored_affected, 'without a score', 'without a score')}</p>`}
    ${
      impact.sample_trace_ids.length > 0 &&
      html`<details>
        <summary>Traces that use it</summary>
        <p class="trace-links">
          ${impact.sample_trace_ids.slice(0, 20).map((id) => html`<a href="${tracePath({ trace_id: id, project })}"><code>${id}</code></a> `)}
        </p>
      </details>`
    }
  </li>`
}

/** The traces that use the change among all, by what the change alone asks of them where that is told. */
function usersOf({ severity, affected_trace_count: n, verdicts }: Impact, total: number) {
  const tone = severity === 'high' ? 'bad' : 'middling'
  const parts = verdicts
    ? VERDICTS.map((word) => ({ kind: `v-${word}`, n: verdicts[word], said: NEEDS[word] }))
    : [{ kind: tone, n, said: undefined }]
  let at = 0
  return html`<svg width="100%" height="8" role="img" aria-label="${n} of ${total} traces">
      <rect class="track" width="100%" height="8" rx="4" />
      ${parts.map((part) => {
        const from = at
        const share = total === 0 ? 0 : (part.n / total) * 100
        at += share
        return (
          share > 0 &&
          html`<rect
            class="fill ${part.kind}"
            x="${from.toFixed(2)}%"
            width="${share.toFixed(2)}%"
            height="8"
            rx="4"
          />`
        )
      })}
    </svg>
    ${n > 0 && verdicts && html`<p class="asks">${parts.map((part) => part.n > 0 && html`<span class="${part.kind}"><i aria-hidden="true"></i><b>${count(part.n)}</b> ${part.said}</span> `)}</p>`}`
}

const MAX_IMPACTS = 20
const SEVERITIES = { high: 'bad', medium: 'warning', low: 'plain' } as const
