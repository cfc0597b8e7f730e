import { EVENT_TYPES } from '../../../jobs/rules/webhooks/webhook-event.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { DELIVERY_STATES } from '../../webhooks/delivery.ts'
import { listDeliveries } from '../../webhooks/list-deliveries.ts'
import { showNotifications } from '../../webhooks/show-notifications.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import type { Query } from '../page.ts'
import {
  ago,
  choice,
  count,
  duration,
  emptyState,
  pager,
  stateBadge,
  tabs,
  withQuery,
} from '../parts.ts'
import { notificationSettings, settingsDialogs } from './notification-settings.ts'

const PATH = '/console/webhooks'

export const listDeliveriesPage = page('/webhooks', {
  area: 'webhooks',
  async show({ ask, query, now }) {
    const { status, event, cursor } = query
    const [settings, list] = await Promise.all([
      ask(showNotifications),
      ask(listDeliveries, { query: { status, event, cursor, limit: 50 } }),
    ])
    return {
      title: 'Webhooks',
      beside: settingsDialogs(settings),
      body: html`${notificationSettings(settings)}
        <section aria-labelledby="deliveries">
          <h2 id="deliveries">Deliveries</h2>
          ${filters(query, list)}
          ${list.deliveries.length > 0 ? html`${rows(list.deliveries, now)}${pager(PATH, query, list.next_cursor)}` : nothing(Boolean(status ?? event), settings.webhook_url !== null)}
        </section>`,
    }
  },
})

function filters({ status, event }: Query, list: DeliveryList): Markup {
  const tab = (word: string | undefined) => ({
    text: word?.replaceAll('_', ' ') ?? 'All',
    href: withQuery(PATH, { event, status: word }),
    isCurrent: status === word,
  })
  return tabs(
    'States',
    [undefined, ...DELIVERY_STATES].map(tab),
    html`<form action="${PATH}">
        ${status && html`<input type="hidden" name="status" value="${status}" />`}
        ${choice('event', 'Event', [...EVENT_TYPES, 'test'], event)}
        <noscript><button class="button">Filter</button></noscript>
      </form>
      <span
        >${count(list.total)}${list.total_is_capped && '+'}
        ${list.total === 1 ? 'delivery' : 'deliveries'}</span
      >`,
  )
}

function rows(deliveries: DeliveryList['deliveries'], now: Date): Markup {
  return html`<table class="rows deliveries" data-rows>
    <thead>
      <tr>
        <th>State</th>
        <th>Event</th>
        <th class="num">Attempts</th>
        <th class="num">Took</th>
        <th class="num">Happened</th>
      </tr>
    </thead>
    <tbody>
      ${deliveries.map(
        ({ id, event, status, error, attempt_count, max_attempts, redelivery_of, ...times }) =>
          html`<tr>
            <td>${stateBadge(status)}</td>
            <td class="what">
              <a data-row href="${PATH}/${id}">${event}</a
              >${redelivery_of && html` <span class="tag">again</span>`}
              ${error && html`<p class="error"><bdi>${error.slice(0, 200)}</bdi></p>`}
            </td>
            <td class="num">
              <span class="label">attempts </span>${attempt_count} of ${max_attempts}
            </td>
            <td class="num">
              <span class="label">took </span
              >${times.finished_at ? duration(times.finished_at.getTime() - times.created_at.getTime()) : '–'}
            </td>
            <td class="num quiet">${ago(times.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function nothing(isFiltered: boolean, isConfigured: boolean) {
  if (isFiltered) {
    return emptyState(
      'No delivery matches',
      'Deliveries are kept for 90 days after their end.',
      html`<a class="button" href="${PATH}">All deliveries</a>`,
    )
  }
  const text = isConfigured
    ? 'Nothing has happened yet that you chose to be told of.'
    : 'Give an address, and the service tells it when a version changes, an agent regresses, or a limit is near.'
  return emptyState(
    'No deliveries yet',
    text,
    !isConfigured &&
      html`<button type="button" class="button primary" data-open="settings">
        Set the address
      </button>`,
  )
}

type DeliveryList = AnswerOf<typeof listDeliveries>
