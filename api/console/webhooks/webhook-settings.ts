import type { AnswerOf } from '../../endpoint.ts'
import type { showNotifications } from '../../webhooks/show-notifications.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, facts } from '../parts.ts'

type Settings = AnswerOf<typeof showNotifications>

/** Where events go, which, and whether they are signed; with a form for who may change it. */
export function webhookSettings(settings: Settings, mayWrite: boolean): Markup {
  const { webhook_url, events, events_configured, signing_secret_configured } = settings
  return html`<section class="card webhook" aria-label="Settings">
    ${facts({
      Address: webhook_url === null ? badge('not set', 'warning') : html`<bdi>${webhook_url}</bdi>`,
      Events: events_configured ? `${events.length} of ${settings.all_events.length}` : 'all',
      Signature: signing_secret_configured
        ? badge('signed with your secret', 'good')
        : badge('no secret: not signed', 'warning'),
    })}
    ${!signing_secret_configured && html`<p class="quiet">The operator sets the secret of your organization; ask for one, so that you can tell our events from those of others.</p>`}
    ${mayWrite && form(settings)}
  </section>`
}

function form({ webhook_url, events, events_configured, all_events }: Settings) {
  const chosen = new Set<string>(events_configured ? events : all_events)
  return html`<details${attributes({ open: webhook_url === null })}>
    <summary>Change</summary>
    <form class="form" data-send="PATCH /api/v1/org/notifications">
      <label>Address<input name="webhook_url" type="url" required maxlength="2048" value="${webhook_url ?? ''}" placeholder="https://example.com/hook" /></label>
      <fieldset class="events">
        <legend>Events</legend>
        ${all_events.map((event) => html`<label><input type="checkbox" name="events" value="${event}" data-type="each" ${attributes({ checked: chosen.has(event) })} /> ${event}</label>`)}
      </fieldset>
      <p role="alert" class="error"></p>
      <div class="actions"><button class="button primary">Save</button></div>
    </form>
  </details>`
}
