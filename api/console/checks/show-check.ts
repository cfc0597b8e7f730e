import { showCheck } from '../../regression/show-check.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, badge, count, facts, stateBadge } from '../parts.ts'
import { checkBadge, decisionBadge, TONES } from './check-badges.ts'
import { downstream } from './check-downstream.ts'
import { impactTable, traceFlow } from './check-impacts.ts'
import type { Check } from './check-impacts.ts'
import { metricTable } from './check-metrics.ts'
import { decideButtons } from './decide-buttons.ts'

export const showCheckPage = page('/checks/{check_id}', {
  area: 'checks',
  async show({ ask, params, query, now, mayWrite }) {
    const check = await ask(showCheck, { params })
    const { baseline_manifest_label: before, candidate_manifest_label: after } = check
    return {
      title: `${check.agent_name} ${after}${before === null ? '' : ` against ${before}`}`,
      above: [{ title: 'Checks', href: '/console/checks' }],
      beside: mayWrite && check.verdict !== null ? decideButtons(check) : undefined,
      body: html`${livePanel(`/console/checks/${params['check_id']}/events`, verdictPanel(check))}
      ${checkFacts(check, now)}${warnings(check)}${traceFlow(check)}${impactTable(check, query['project'])}${metricTable(check)}${downstream(check)}${replayedCalls(check)}`,
    }
  },
})

export const checkEvents = panelEvents(
  '/checks/{check_id}/events',
  async ({ ask, params }: Visit) => verdictPanel(await ask(showCheck, { params })),
)

function verdictPanel(check: Check): Panel {
  const { status, verdict, verdict_message, human_summary, error_message } = check
  const isDone = status !== 'running'
  const job = check.job_id && html`<a class="link" href="/console/jobs/${check.job_id}">Its job</a>`
  if (verdict === null) {
    return {
      isDone,
      markup: html`<section
        class="check-verdict tone-${isDone ? 'bad' : 'busy'}"
        aria-labelledby="verdict"
      >
        <h2 id="verdict">${stateBadge(status)}</h2>
        <p class="because">
          <bdi>${error_message ?? 'The recorded traces are being held against the candidate'}</bdi>
        </p>
        <p>${job}</p>
      </section>`,
    }
  }
  const lines = sentences(human_summary ?? '')
  return {
    isDone,
    markup: html`<section class="check-verdict tone-${TONES[verdict]}" aria-labelledby="verdict">
      <h2 id="verdict">${checkBadge(check)}</h2>
      <p class="because">${verdict_message}</p>
      ${
        human_summary !== verdict_message &&
        html`<ul>
          ${lines.slice(0, MAX_LINES).map((line) => html`<li><bdi>${line}</bdi></li>`)}
        </ul>`
      }
    </section>`,
  }
}

function checkFacts(check: Check, now: Date): Markup {
  const { pr_context, baseline_manifest_id: before } = check
  const version = (id: string, label: string) =>
    html`<a href="/console/manifests/${id}">${label}</a>`
  const side = before && `/console/manifests/${check.candidate_manifest_id}?against=${before}`
  return facts({
    Agent: html`<a href="/console/agents/${encodeURIComponent(check.agent_name)}"
      ><bdi>${check.agent_name}</bdi></a
    >`,
    Candidate: version(check.candidate_manifest_id, check.candidate_manifest_label),
    Baseline: before && version(before, check.baseline_manifest_label ?? 'before'),
    Changes:
      side &&
      html`<a href="${side}">${count(check.diff_summary?.total_changes ?? 0)}, side by side</a>`,
    'Traces walked': count(check.total_traces_analyzed),
    Source: check.source && html`<bdi>${check.source.slice(0, 80)}</bdi>`,
    'Pull request': pr_context && pullRequest(pr_context),
    Decision: html`${decisionBadge(check.human_decision)}${check.decided_at && html` ${ago(check.decided_at, now)}`}`,
    Note: check.decision_note && html`<bdi>${check.decision_note.slice(0, 500)}</bdi>`,
    Checked: ago(check.created_at, now),
  })
}

function pullRequest({ repo, pr_number, branch, commit_sha }: Readonly<Record<string, unknown>>) {
  const words = [
    typeof repo === 'string' && repo,
    typeof pr_number === 'number' && `#${pr_number}`,
    typeof branch === 'string' && branch,
    typeof commit_sha === 'string' && commit_sha.slice(0, 8),
  ]
  return html`<bdi>${words.filter(Boolean).join(' · ').slice(0, 200)}</bdi>`
}

function warnings({ warnings: all }: Check) {
  if (!all || all.length === 0) return ''
  return html`<ul class="check-warnings">
    ${all.slice(0, MAX_LINES).map(({ message }) => html`<li>${badge('note', 'warning')} <bdi>${message}</bdi></li>`)}
  </ul>`
}

function replayedCalls({ call_replay: replayed }: Check) {
  if (!replayed) return ''
  const { message, summary } = replayed
  return html`<section aria-labelledby="replayed">
    <h2 id="replayed">Calls asked again</h2>
    <p><bdi>${message}</bdi></p>
    ${summary.replayed > 0 && facts({ Replayed: count(summary.replayed), Equivalent: count(summary.equivalent), Changed: count(summary.changed), Errors: count(summary.errors) })}
  </section>`
}

/** The sentences of a text, so that each can stand on a line of its own. */
function sentences(text: string) {
  return text.split(/(?<=[.;]) (?=[A-Z]|environment |tool |model |prompt )/)
}

const MAX_LINES = 12
