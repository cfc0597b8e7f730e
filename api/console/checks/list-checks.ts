import { CHECK_VERDICTS } from '../../../jobs/rules/regression/check-findings.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { listChecks } from '../../regression/list-checks.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, choice, count, curlLine, emptyState, pager, percent } from '../parts.ts'
import { checkBadge, decisionBadge } from './check-badges.ts'

const PATH = '/console/checks'

export const listChecksPage = page('/checks', {
  area: 'checks',
  async show({ ask, query, now, address }) {
    const { agent_name, verdict, project, cursor } = query
    const [list, { agents }] = await Promise.all([
      ask(listChecks, { query: { agent_name, verdict, project, cursor, limit: 50 } }),
      ask(listAgents, { query: { project, limit: 100 } }),
    ])
    const names = [agent_name ?? '', ...agents.map((agent) => agent.agent_name)].filter(Boolean)
    const isFiltered = Boolean(agent_name ?? verdict ?? project)
    const checks = list.regression_checks
    return {
      title: 'Checks',
      body: html`<p class="lead">
          Before a candidate replaces the active version, a check holds it against the traces that
          were recorded: which of them it would break, and whether its own are worse.
        </p>
        ${
          (checks.length > 0 || isFiltered) &&
          html`<form class="filters" action="${PATH}">
            ${choice('agent_name', 'Agent', [...new Set(names)], agent_name)}
            ${choice(
              'verdict',
              'Verdict',
              CHECK_VERDICTS.map((value) => ({ value, text: value.replaceAll('_', ' ') })),
              verdict,
            )}
            ${project && html`<input type="hidden" name="project" value="${project}" />`}
            <button class="button">Filter</button>
            ${isFiltered && html`<a class="link" href="${PATH}">Clear</a>`}
            <span class="total">${totalOf(list)}</span>
          </form>`
        }
        ${checks.length > 0 ? html`${rows(checks, now)}${pager(PATH, query, list.next_cursor)}` : isFiltered ? noMatch() : noChecks(address)}`,
    }
  },
})

function rows(checks: List['regression_checks'], now: Date): Markup {
  return html`<table class="rows checks" data-rows>
    <thead>
      <tr>
        <th>Verdict</th>
        <th>Candidate</th>
        <th>From</th>
        <th class="num">Affected traces</th>
        <th>Decision</th>
        <th class="num">Checked</th>
      </tr>
    </thead>
    <tbody>
      ${checks.map(
        (check) =>
          html`<tr>
            <td>${checkBadge(check)}</td>
            <td>
              <a data-row href="${PATH}/${check.id}"
                ><b><bdi>${check.agent_name}</bdi> ${check.candidate_manifest_label}</b></a
              >
              <p class="quiet">
                ${check.baseline_manifest_label === null ? 'no version before it' : html`against ${check.baseline_manifest_label}`}
              </p>
            </td>
            <td>${sourceOf(check)}</td>
            <td class="num" data-label="affected">${affectedOf(check)}</td>
            <td>${decisionBadge(check.human_decision)}</td>
            <td class="num quiet">${ago(check.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function sourceOf({ source, pr_context }: Check) {
  const { repo, pr_number } = pr_context ?? {}
  const pull =
    typeof repo === 'string' &&
    typeof pr_number === 'number' &&
    `${repo.slice(0, 80)} #${pr_number}`
  return html`<bdi>${source?.slice(0, 60) ?? 'by hand'}</bdi
    >${pull && html`<p class="quiet"><bdi>${pull}</bdi></p>`}`
}

function affectedOf({ affected_trace_count: affected, total_traces_analyzed: total }: Check) {
  if (affected === null || total === null) return '–'
  return html`${count(affected)} of ${count(total)}
    <span class="quiet">${percent(affected, total)}</span>`
}

function totalOf({ total, total_is_capped }: List) {
  if (total === null) return ''
  return `${count(total)}${total_is_capped ? '+' : ''} ${total === 1 ? 'check' : 'checks'}`
}

function noMatch() {
  return emptyState(
    'No check matches',
    'Take a filter away.',
    html`<a class="button" href="${PATH}">Clear all filters</a>`,
  )
}

function noChecks(address: string) {
  return emptyState(
    'No checks yet',
    'Register the candidate as a draft in CI, and check it before it runs:',
    curlLine(address, 'POST /regression-check', {
      agent_name: 'my-agent',
      candidate_manifest_id: 'the id of the candidate',
      source: 'ci',
    }),
  )
}

type List = AnswerOf<typeof listChecks>
type Check = List['regression_checks'][number]
