import { listDeliveries } from '../../webhooks/list-deliveries.ts'
import { showNotifications } from '../../webhooks/show-notifications.ts'
import { DELIVERY_STATES } from '../../webhooks/delivery.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import { ago, choice, emptyState, pager, sendButton, stateBadge, totalOf } from '../parts.ts'
import { webhookSettings } from './webhook-settings.ts'

const PATH = '/console/webhooks'

export const listDeliveriesPage = page('/webhooks', {
  area: 'webhooks',
  access: 'global-admin',
  async show({ ask, query, now, mayWrite }) {
    const { status, event, cursor } = query
    const [settings, list] = await Promise.all([
      ask(showNotifications),
      ask(listDeliveries, { query: { status, event, cursor } }),
    ])
    const isSet = settings.webhook_url !== null
    return {
      title: 'Webhooks',
      beside:
        mayWrite && isSet
          ? sendButton('Send a test', 'POST /org/notifications/test', {
              then: `${PATH}/{id}`,
              kind: 'primary',
            })
          : undefined,
      body: html`${webhookSettings(settings, mayWrite)}
        <section aria-labelledby="deliveries">
          <h2 id="deliveries">Deliveries</h2>
          <form class="filters" action="${PATH}">
            ${choice('status', 'State', DELIVERY_STATES, status)}
            ${choice('event', 'Event', ['test', ...settings.all_events], event)}
            <button class="button">Filter</button>
            ${(status || event) && html`<a class="link" href="${PATH}">Clear</a>`}
            <span class="total">${totalOf(list, 'delivery', 'deliveries')}</span>
          </form>
          ${list.deliveries.length === 0 ? nothing(Boolean(status || event), isSet) : rows(list.deliveries, now)}
          ${pager(PATH, query, list.next_cursor)}
        </section>`,
    }
  },
})

function rows(deliveries: AnswerOf<typeof listDeliveries>['deliveries'], now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>State</th>
        <th>Event</th>
        <th class="num">Attempts</th>
        <th>Last error</th>
        <th class="num">Created</th>
      </tr>
    </thead>
    <tbody>
      ${deliveries.map(
        (delivery) =>
          html`<tr>
            <td>${stateBadge(delivery.status)}</td>
            <td>
              <a data-row href="${PATH}/${delivery.id}">${delivery.event}</a>
              ${delivery.redelivery_of && html`<p class="quiet">sent again</p>`}
            </td>
            <td class="num">${delivery.attempt_count} of ${delivery.max_attempts}</td>
            <td class="error"><bdi>${delivery.error}</bdi></td>
            <td class="num quiet">${ago(delivery.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function nothing(isFiltered: boolean, isSet: boolean) {
  if (isFiltered) {
    return emptyState(
      'No delivery matches',
      'Take a filter away.',
      html`<a class="button" href="${PATH}">Clear all filters</a>`,
    )
  }
  return emptyState(
    'Nothing was delivered yet',
    isSet
      ? 'Send a test, or wait for the next event.'
      : 'Say where events are to be sent: an address of yours that takes a POST with JSON.',
  )
}
