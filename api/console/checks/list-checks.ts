import { CHECK_VERDICTS } from '../../../jobs/rules/regression/check-findings.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listChecks } from '../../regression/list-checks.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import {
  ago,
  choice,
  count,
  curlLine,
  emptyState,
  hiddenProject,
  pager,
  totalOf,
} from '../parts.ts'
import { checkBadge, decisionBadge } from './check-verdict.ts'

const PATH = '/console/checks'

export const listChecksPage = page('/checks', {
  area: 'checks',
  async show({ ask, query, now, address }) {
    const { agent_name, verdict, project, cursor } = query
    const list = await ask(listChecks, { query: { agent_name, verdict, project, cursor } })
    const isFiltered = Boolean(agent_name || verdict || project)
    const { regression_checks: checks } = list
    return {
      title: 'Checks',
      body: html`${
        (checks.length > 0 || isFiltered) &&
        html`<form class="filters" action="${PATH}">
          <input
            name="agent_name"
            value="${agent_name}"
            placeholder="Agent"
            aria-label="Agent"
            maxlength="256"
          />
          ${choice('verdict', 'Verdict', CHECK_VERDICTS, verdict)} ${hiddenProject(project)}
          <button class="button">Filter</button>
          ${isFiltered && html`<a class="link" href="${PATH}">Clear</a>`}
          <span class="total">${totalOf(list, 'check')}</span>
        </form>`
      }
      ${checks.length > 0 ? rows(checks, now) : nothing(isFiltered, address)}
      ${pager(PATH, query, list.next_cursor)}`,
    }
  },
})

function rows(checks: Check[], now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Verdict</th>
        <th>Candidate</th>
        <th>Affected traces</th>
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
                ><bdi>${check.agent_name}</bdi> ${check.candidate_manifest_label}</a
              >
              <p class="quiet">
                ${check.baseline_manifest_label === null ? 'nothing to compare with' : `against ${check.baseline_manifest_label}`}
              </p>
            </td>
            <td>${affected(check)}</td>
            <td>${decisionBadge(check.human_decision)}</td>
            <td class="num quiet">${ago(check.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function affected({ affected_trace_count: n, total_traces_analyzed: of }: Check) {
  if (n === null || of === null) return html`<span class="quiet">–</span>`
  const width = of === 0 ? 0 : (n / of) * 60
  return html`<span class="score"
    ><svg width="60" height="6" role="img" aria-label="${n} of ${of}">
      <rect class="track" width="60" height="6" rx="3" />
      <rect class="fill bad" width="${width.toFixed(1)}" height="6" rx="3" /></svg
    >${count(n)} of ${count(of)}</span
  >`
}

function nothing(isFiltered: boolean, address: string) {
  if (isFiltered) {
    return emptyState(
      'No check matches',
      'Take a filter away.',
      html`<a class="button" href="${PATH}">Clear all filters</a>`,
    )
  }
  return emptyState(
    'No checks yet',
    'A check tells which recorded traces the next version of an agent breaks, before it runs. Register the version as a draft, then check it:',
    curlLine(address, 'POST /regression-check', {
      agent_name: 'my-agent',
      candidate_manifest_id: 'MANIFEST_ID',
    }),
  )
}

type Check = AnswerOf<typeof listChecks>['regression_checks'][number]
