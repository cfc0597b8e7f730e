import type { AnswerOf } from '../../endpoint.ts'
import type { showNotifications } from '../../webhooks/show-notifications.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, facts, sendButton } from '../parts.ts'

type Settings = AnswerOf<typeof showNotifications>

/** Where events are sent, which ones, and whether they are signed. */
export function notificationSettings(settings: Settings): Markup {
  const { webhook_url, events, events_configured, signing_secret_configured } = settings
  if (webhook_url === null && !signing_secret_configured) return html``
  return html`${facts({
    Address: webhook_url === null ? 'none: nothing is sent' : html`<code>${webhook_url}</code>`,
    Signed: signing_secret_configured
      ? badge('with a secret', 'good')
      : badge('not signed', 'warning'),
    Events: events_configured ? html`<span class="chosen">${chosenEvents(events)}</span>` : 'all',
  })}
  ${!signing_secret_configured && html`<p class="quiet note">Without a secret a receiver cannot tell that a notification is genuine. The operators of this service set it, on the command line: <code>npx node ops/admin.ts org set-webhook-secret</code>.</p>`}`
}

function chosenEvents(events: readonly string[]) {
  return events.length === 0 ? 'none' : events.map((event) => html`<code>${event}</code> `)
}

/** The buttons that send a test and change the settings. */
export function settingsDialog({
  webhook_url,
  events,
  events_configured,
  all_events,
}: Settings): Markup {
  const chosen = new Set(events_configured ? events : all_events)
  return html`${webhook_url !== null && sendButton('Send a test', 'POST /org/notifications/test', { then: '/console/webhooks/{id}' })}
    <button type="button" class="button primary" data-open="settings">
      ${webhook_url === null ? 'Set the address' : 'Change'}
    </button>
    <dialog id="settings" aria-labelledby="settings-title">
      <h2 id="settings-title">Notifications</h2>
      <form
        class="form"
        data-send="PATCH /api/v1/org/notifications"
        data-body="${JSON.stringify({ webhook_url: null, events: [] })}"
      >
        <label
          >Address<input
            type="url"
            name="webhook_url"
            value="${webhook_url}"
            placeholder="https://example.com/hook"
            maxlength="2048"
          /><small>https, reachable from here. Empty: nothing is sent.</small></label
        >
        <fieldset class="events">
          <legend>Events</legend>
          ${all_events.map(
            (event) =>
              html`<label
                ><input
                  type="checkbox"
                  name="events"
                  data-type="list"
                  ${attributes({ value: event, checked: chosen.has(event) })}
                /><code>${event}</code></label
              >`,
          )}
        </fieldset>
        <p role="alert" class="error"></p>
        <div class="actions">
          <button class="button primary">Save</button
          ><button type="button" class="button" data-close>Cancel</button>
        </div>
      </form>
    </dialog>`
}
