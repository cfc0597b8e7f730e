import type { AnswerOf } from '../../endpoint.ts'
import { showCheck } from '../../regression/show-check.ts'
import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, badge, count, emptyState, percent, plural, sendButton } from '../parts.ts'
import { checkBadge, decisionBadge, toneOfCheck } from './check-verdict.ts'
import { downstream } from './downstream.ts'
import { metricTable } from './metric-table.ts'

export const showCheckPage = page('/checks/{check_id}', {
  area: 'checks',
  async show(visit) {
    const { ask, params, mayWrite } = visit
    const check = await ask(showCheck, { params })
    return {
      title: `${check.agent_name} ${check.candidate_manifest_label}`,
      above: [{ title: 'Checks', href: '/console/checks' }],
      beside: mayWrite && check.status === 'completed' ? decisionButtons(check) : undefined,
      body: livePanel(`/console/checks/${check.id}/events`, panelOf(check, visit)),
    }
  },
})

export const checkEvents = panelEvents('/checks/{check_id}/events', async (visit) =>
  panelOf(await visit.ask(showCheck, { params: visit.params }), {
    now: visit.call.context.now(),
  }),
)

function decisionButtons({ id, human_decision }: Check) {
  const decide = (human_decision: 'accepted' | 'rejected') => ({ body: { human_decision } })
  const path = `POST /regression-check/${id}/decision` as const
  return html`${human_decision !== 'rejected' && sendButton('Reject', path, { ...decide('rejected'), kind: 'danger' })}
  ${human_decision !== 'accepted' && sendButton('Accept', path, { ...decide('accepted'), kind: 'primary' })}`
}

function panelOf(check: Check, { now }: Pick<Visit, 'now'>): Panel {
  if (check.status === 'completed') return { isDone: true, markup: report(check, now) }
  const link = html`<a class="button" href="/console/jobs/${check.job_id}">See the job</a>`
  return {
    isDone: check.status === 'failed',
    markup:
      check.status === 'failed'
        ? emptyState('The check failed', html`<bdi>${check.error_message}</bdi>`, link)
        : emptyState(
            'The check is running',
            'This page shows its report as soon as it is there.',
            link,
          ),
  }
}

function report(check: Check, now: Date): Markup {
  return html`${headline(check, now)} ${compatibility(check)} ${impacts(check)}
  ${check.metrics && check.metrics.length > 0 && metricTable(check.metrics)}
  ${check.downstream_impact && downstream(check.downstream_impact)} ${warnings(check)}`
}

function headline(check: Check, now: Date) {
  const { verdict, verdict_message, human_summary, baseline_manifest_id: baseline } = check
  return html`<section class="card check-head tone-${toneOfCheck(verdict)}" aria-label="Verdict">
    <p>${checkBadge(check)} ${check.human_decision && decisionBadge(check.human_decision)}</p>
    <h2>${verdict_message}</h2>
    ${human_summary !== verdict_message && html`<p><bdi>${human_summary?.slice(0, 1200)}</bdi></p>`}
    <p class="quiet">
      <a href="/console/manifests/${check.candidate_manifest_id}"
        >${check.candidate_manifest_label}</a
      >
      ${baseline && html`against <a href="/console/manifests/${baseline}">${check.baseline_manifest_label}</a>`}
      · checked ${ago(check.created_at, now)}
      ${check.decided_at && html`· ${check.human_decision} ${ago(check.decided_at, now)}`}
    </p>
    ${check.decision_note && html`<p><bdi>${check.decision_note}</bdi></p>`}
  </section>`
}

/** What would have to be done with recorded traces so that they fit the candidate. */
function compatibility({ compat_summary: verdicts, total_traces_analyzed: total }: Check) {
  if (!verdicts || !total) return ''
  let at = 0
  return html`<section class="strip" aria-labelledby="needed">
    <h2 id="needed">What recorded traces would need</h2>
    <svg width="100%" height="10" aria-hidden="true">
      ${VERDICTS.map((word) => {
        const from = at
        const share = (verdicts[word] / total) * 100
        at += share
        return (
          share > 0 &&
          html`<rect
            class="v-${word}"
            x="${from.toFixed(3)}%"
            width="${Math.max(0.15, share - 0.2).toFixed(3)}%"
            height="10"
            rx="3"
          />`
        )
      })}
    </svg>
    <ul>
      ${VERDICTS.map(
        (word) =>
          html`<li>
            <span class="v-${word}"
              ><i aria-hidden="true"></i><b>${count(verdicts[word])}</b> ${NEEDS[word]}
              <span class="quiet">${percent(verdicts[word], total)}</span></span
            >
          </li>`,
      )}
    </ul>
  </section>`
}

function impacts({ impacts, total_traces_analyzed: total }: Check) {
  if (!impacts || impacts.length === 0) return ''
  return html`<section aria-labelledby="changes">
    <h2 id="changes">What the candidate changes, and which traces use it</h2>
    <ol class="impacts">
      ${impacts.slice(0, MAX_IMPACTS).map((impact) => impactOf(impact, total ?? 0))}
    </ol>
    ${impacts.length > MAX_IMPACTS && html`<p class="quiet">and ${impacts.length - MAX_IMPACTS} further changes</p>`}
  </section>`
}

function impactOf(impact: NonNullable<Check['impacts']>[number], total: number) {
  const { severity, surface_name, explanation, affected_trace_count: n, eval_breakdown } = impact
  const share = total === 0 ? 0 : (n / total) * 100
  const kind = impact.surface_change_type.replaceAll('_', ' ')
  return html`<li class="card">
    <div class="impact-head">
      ${badge(`${severity} risk`, SEVERITIES[severity])} <b><bdi>${surface_name}</bdi></b>
      <span class="quiet">${kind}</span>
    </div>
    <svg width="100%" height="8" role="img" aria-label="${n} of ${total} traces">
      <rect class="track" width="100%" height="8" rx="4" />
      <rect
        class="fill ${severity === 'high' ? 'bad' : 'middling'}"
        width="${share.toFixed(2)}%"
        height="8"
        rx="4"
      />
    </svg>
    <p><bdi>${explanation.slice(0, 400)}</bdi></p>
    ${n > 0 && html`<p class="quiet">${plural(eval_breakdown.passing_affected, 'passed', 'passed')}, ${plural(eval_breakdown.failing_affected, 'failed', 'failed')}, ${plural(eval_breakdown.unscored_affected, 'without a score', 'without a score')}</p>`}
    ${
      impact.sample_trace_ids.length > 0 &&
      html`<details>
        <summary>Traces that use it</summary>
        <p class="trace-links">
          ${impact.sample_trace_ids.slice(0, 20).map((id) => html`<a href="/console/traces/${encodeURIComponent(id)}"><code>${id}</code></a> `)}
        </p>
      </details>`
    }
  </li>`
}

function warnings({ warnings }: Check) {
  if (!warnings || warnings.length === 0) return ''
  return html`<section aria-labelledby="warnings">
    <h2 id="warnings">What the check could not tell</h2>
    <ul>
      ${warnings.slice(0, 20).map(({ code, message }) => html`<li>${message} <code class="quiet">${code}</code></li>`)}
    </ul>
  </section>`
}

const MAX_IMPACTS = 20
const NEEDS = {
  keep: 'stay as they are',
  repair: 'to be repaired',
  replay: 'to be replayed',
  drop: 'lost',
}
const SEVERITIES = { high: 'bad', medium: 'warning', low: 'plain' } as const

type Check = AnswerOf<typeof showCheck>
