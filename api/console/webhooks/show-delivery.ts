import type { AnswerOf } from '../../endpoint.ts'
import { showDelivery } from '../../webhooks/show-delivery.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, duration, emptyState, facts, sendButton, stateBadge } from '../parts.ts'

export const showDeliveryPage = page('/webhooks/{delivery_id}', {
  area: 'webhooks',
  access: 'global-admin',
  async show({ ask, params, now, mayWrite }) {
    const delivery = await ask(showDelivery, { params })
    const { attempts, redelivery_of } = delivery
    return {
      title: delivery.event,
      above: [{ title: 'Webhooks', href: '/console/webhooks' }],
      beside:
        mayWrite && delivery.finished_at
          ? sendButton('Send again', `POST /org/webhook-deliveries/${delivery.id}/redeliver`, {
              then: '/console/webhooks/{id}',
              kind: delivery.status === 'failed' ? 'primary' : '',
            })
          : undefined,
      body: html`${facts({
          State: stateBadge(delivery.status),
          Attempts: `${delivery.attempt_count} of ${delivery.max_attempts}`,
          Created: ago(delivery.created_at, now),
          Ended: delivery.finished_at && ago(delivery.finished_at, now),
          'Sent again after':
            redelivery_of &&
            html`<a href="/console/webhooks/${redelivery_of}"><code>${redelivery_of}</code></a>`,
          'Event id': html`<code>${delivery.id}</code>`,
        })}
        <section aria-labelledby="attempts">
          <h2 id="attempts">Attempts</h2>
          ${
            attempts.length === 0
              ? emptyState('Not tried yet', 'The first attempt follows within seconds.')
              : html`<ol class="attempts">
                  ${attempts.map((attempt) => attemptOf(attempt, now))}
                </ol>`
          }
        </section>`,
    }
  },
})

function attemptOf(attempt: Attempt, now: Date) {
  const { number, started_at, duration_ms, status_code, error, response_excerpt } = attempt
  return html`<li class="card">
    <p>
      <b>${number}</b> ${answerBadge(attempt)}
      <span class="quiet">${ago(started_at, now)} · ${duration(duration_ms)}</span>
    </p>
    ${error && html`<p class="error"><bdi>${error}</bdi></p>`}
    ${
      response_excerpt &&
      html`<details>
        <summary>
          What ${status_code === null ? 'came back' : `was answered with ${status_code}`}
        </summary>
        <pre tabindex="0"><bdi>${response_excerpt}</bdi></pre>
      </details>`
    }
  </li>`
}

function answerBadge({ status_code, duration_ms }: Attempt) {
  if (status_code === null) {
    return duration_ms === null ? badge('under way', 'busy') : badge('no answer', 'bad')
  }
  const isTaken = status_code >= 200 && status_code < 300
  return badge(`answered ${status_code}`, isTaken ? 'good' : 'bad')
}

type Attempt = AnswerOf<typeof showDelivery>['attempts'][number]
