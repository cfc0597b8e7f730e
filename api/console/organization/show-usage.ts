import {
  LIVE_KEYS,
  PLAN_RATES,
  PLANS,
  UPLOAD_BYTES,
  WAITING_JOBS,
} from '../../../jobs/rules/org/plan.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { showBilling } from '../../org/show-billing.ts'
import { showUsage } from '../../org/show-usage.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, count, facts } from '../parts.ts'
import { organizationTabs } from './organization-tabs.ts'

export const showUsagePage = page('/organization', {
  area: 'organization',
  async show({ ask, now, principal }) {
    const isAdmin = principal.scope === 'global' && principal.permissions === 'admin'
    const [usage, billing] = await Promise.all([
      ask(showUsage),
      isAdmin ? ask(showBilling) : undefined,
    ])
    return {
      title: 'Organization',
      body: html`${organizationTabs('Usage')}
        ${facts({
          Organization: html`<bdi>${principal.orgName}</bdi>`,
          Plan: usage.plan,
          'Traces are kept':
            usage.trace_retention_days === null
              ? 'for ever'
              : `${count(usage.trace_retention_days)} days`,
          'Counted since': ago(usage.period_start, now),
          'Starts anew': ago(usage.period_end, now),
          'Billing contact':
            billing?.billing_contact && html`<bdi>${billing.billing_contact}</bdi>`,
        })}
        ${billing && overdue(billing, now)}
        <section aria-labelledby="usage">
          <h2 id="usage">Used this month</h2>
          <ul class="quotas">
            ${usage.metrics.map(quota)}
          </ul>
        </section>
        ${limits(usage.plan)}`,
    }
  },
})

function overdue({ grace_period_ends, degraded }: Billing, now: Date) {
  if (degraded) {
    return html`<p class="alert" role="status">
      A payment is overdue and its grace period is over: the limits of the free plan hold. Nothing
      is deleted.
    </p>`
  }
  if (!grace_period_ends) return undefined
  return html`<p class="alert" role="status">
    A payment is overdue. The plan holds on: its grace period ends ${ago(grace_period_ends, now)}.
  </p>`
}

function quota({ metric, current, limit, percent }: AnswerOf<typeof showUsage>['metrics'][number]) {
  const level = percent >= 100 ? 'bad' : percent >= 80 ? 'middling' : 'good'
  const name = NAMES[metric]
  return html`<li class="card">
    <p>
      <b>${name}</b>
      ${level === 'bad' ? badge('used up', 'bad') : level === 'middling' && badge('nearly used up', 'warning')}
    </p>
    <p class="big">${count(current)} <small>of ${count(limit)}</small></p>
    <svg width="100%" height="8" role="img" aria-label="${name}: ${percent} % used">
      <rect class="track" width="100%" height="8" rx="4" />
      ${current > 0 && html`<rect class="fill ${level === 'good' ? '' : level}" width="${Math.max(0.6, Math.min(100, percent))}%" height="8" rx="4" />`}
    </svg>
    <p class="quiet">${percent} %</p>
  </li>`
}

/** What every organization of a plan may do, the own plan marked. */
function limits(own: string): Markup {
  const rows: readonly [string, (plan: (typeof PLANS)[number]) => string][] = [
    ['Requests a minute of a key', (plan) => count(PLAN_RATES[plan].perMinute)],
    ['Requests at once of a key', (plan) => count(PLAN_RATES[plan].burst)],
    ['Keys', (plan) => count(LIVE_KEYS[plan])],
    ['Waiting jobs of a kind', (plan) => count(WAITING_JOBS[plan])],
    ['Stored uploads', (plan) => `${count(UPLOAD_BYTES[plan] / GIB)} GiB`],
  ]
  return html`<section aria-labelledby="limits">
    <h2 id="limits">Limits of the plans</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of limits">
      <table class="rows keep-table plans">
        <thead>
          <tr>
            <td></td>
            ${PLANS.map((plan) => html`<th scope="col" class="num">${plan}${plan === own && html` <span class="tag">yours</span>`}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ([name, valueOf]) =>
              html`<tr>
                <th scope="row">${name}</th>
                ${PLANS.map((plan) => html`<td class="num">${valueOf(plan)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`
}

const NAMES: Readonly<Record<string, string>> = {
  traces_ingested: 'Traces taken in',
  sft_rows: 'Dataset rows built',
  regression_checks: 'Regression checks',
}

const GIB = 2 ** 30

type Billing = NonNullable<AnswerOf<typeof showBilling>>
