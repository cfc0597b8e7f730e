import type { AnswerOf } from '../../endpoint.ts'
import { showManifest } from '../../manifests/show-manifest.ts'
import { showCheck } from '../../regression/show-check.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, emptyState, sendButton } from '../parts.ts'
import { checkBadge, decisionBadge, toneOfCheck } from './check-verdict.ts'
import { downstream } from './downstream.ts'
import { impactList } from './impacts.ts'
import { metricTable } from './metric-table.ts'
import { neededOf } from './needed.ts'

export const showCheckPage = page('/checks/{check_id}', {
  area: 'checks',
  async show(visit) {
    const { ask, params, mayWrite } = visit
    const check = await ask(showCheck, { params })
    return {
      title: `${check.agent_name} ${check.candidate_manifest_label}`,
      above: [{ title: 'Checks', href: '/console/checks' }],
      beside:
        mayWrite && check.status === 'completed' ? await decisionButtons(visit, check) : undefined,
      body: livePanel(`/console/checks/${check.id}/events`, panelOf(check, visit)),
    }
  },
})

export const checkEvents = panelEvents('/checks/{check_id}/events', async (visit) =>
  panelOf(await visit.ask(showCheck, { params: visit.params }), {
    now: visit.call.context.now(),
  }),
)

async function decisionButtons({ ask }: Visit, check: Check): Promise<Markup> {
  const { id, human_decision, candidate_manifest_id: manifest_id } = check
  const candidate = await ask(showManifest, { params: { manifest_id } })
  const decide = (human_decision: 'accepted' | 'rejected') => ({ body: { human_decision } })
  const path = `POST /regression-check/${id}/decision` as const
  return html`${human_decision !== 'rejected' && sendButton('Reject', path, { ...decide('rejected'), kind: 'danger', ...(candidate.status === 'active' && { confirm: STAYS_ACTIVE }) })}
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
  return html`${headline(check, now)} ${neededOf(check)} ${impactList(check)}
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

function warnings({ warnings }: Check) {
  if (!warnings || warnings.length === 0) return ''
  return html`<section aria-labelledby="warnings">
    <h2 id="warnings">What the check could not tell</h2>
    <ul>
      ${warnings.slice(0, 20).map(({ code, message }) => html`<li>${message} <code class="quiet">${code}</code></li>`)}
    </ul>
  </section>`
}

const STAYS_ACTIVE =
  'Reject the candidate? It stays the active version; activate another one on its page.'

type Check = AnswerOf<typeof showCheck>
