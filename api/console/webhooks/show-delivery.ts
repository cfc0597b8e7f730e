import type { AnswerOf } from '../../endpoint.ts'
import { showDelivery } from '../../webhooks/show-delivery.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import { ago, badge, duration, facts, sendButton, stateBadge } from '../parts.ts'

export const showDeliveryPage = page('/webhooks/{delivery_id}', {
  area: 'webhooks',
  async show({ ask, params, now }) {
    const delivery = await ask(showDelivery, { params })
    const { id } = delivery
    return {
      title: delivery.event,
      above: [{ title: 'Webhooks', href: '/console/webhooks' }],
      beside: sendButton('Send again', `POST /org/webhook-deliveries/${id}/redeliver`, {
        then: '/console/webhooks/{id}',
      }),
      body: html`${livePanel(`/console/webhooks/${id}/events`, deliveryPanel(delivery, now))}
        <p class="quiet note">
          Sent as <code>X-Service-Event-Id: ${id}</code>, the same on each attempt. Sending it again
          makes a new delivery of the same bytes.
        </p>`,
    }
  },
})

export const deliveryEvents = panelEvents(
  '/webhooks/{delivery_id}/events',
  async ({ ask, params, call }) =>
    deliveryPanel(await ask(showDelivery, { params }), call.context.now()),
)

function deliveryPanel(delivery: Delivery, now: Date): Panel {
  const { status, error, attempts, attempt_count, max_attempts, redelivery_of } = delivery
  return {
    isDone: delivery.finished_at !== null,
    markup: html`<section>
        ${facts({
          State: stateBadge(status),
          Attempts: `${attempt_count} of ${max_attempts}`,
          Happened: ago(delivery.created_at, now),
          Ended: delivery.finished_at && ago(delivery.finished_at, now),
          'Sent again from':
            redelivery_of &&
            html`<a href="/console/webhooks/${redelivery_of}"><code>${redelivery_of}</code></a>`,
        })}
        ${error && html`<p class="error because"><bdi>${error}</bdi></p>`}
      </section>
      <section aria-labelledby="attempts">
        <h2 id="attempts">Attempts</h2>
        ${
          attempts.length === 0
            ? html`<p class="quiet">None yet.</p>`
            : html`<ol class="tries">
                ${attempts.map((attempt) => attemptItem(attempt, now))}
              </ol>`
        }
      </section>`,
  }
}

function attemptItem(
  {
    number,
    started_at,
    duration_ms,
    status_code,
    error,
    response_excerpt,
  }: Delivery['attempts'][number],
  now: Date,
): Markup {
  const isGood = status_code !== null && status_code >= 200 && status_code < 300
  const answer =
    status_code === null
      ? badge('no response', error ? 'bad' : 'busy')
      : badge(status_code, isGood ? 'good' : 'bad')
  return html`<li class="card">
    <p>
      <b>${number}</b> ${answer}
      <span class="quiet"
        >${ago(started_at, now)}${duration_ms !== null && ` · ${duration(duration_ms)}`}</span
      >
    </p>
    ${error && html`<p class="error"><bdi>${error}</bdi></p>`}
    ${response_excerpt ? html`<pre tabindex="0" aria-label="Response of attempt ${number}"><bdi>${response_excerpt.slice(0, MAX_SHOWN)}</bdi></pre>` : status_code !== null && html`<p class="quiet">An empty response</p>`}
  </li>`
}

const MAX_SHOWN = 2000

type Delivery = AnswerOf<typeof showDelivery>
