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

/**
 * The buttons that send a test and change the settings. Address and events are saved apart: a list that was
 * saved leaves out the types of later releases.
 */
export function settingsDialogs(settings: Settings): Markup {
  const { webhook_url } = settings
  return html`${webhook_url !== null && sendButton('Send a test', 'POST /org/notifications/test', { then: '/console/webhooks/{id}' })}
    <button type="button" class="button" data-open="choose-events">Choose events</button>
    <button type="button" class="button primary" data-open="set-address">
      ${webhook_url === null ? 'Set the address' : 'Change the address'}
    </button>
    ${eventsDialog(settings)} ${addressDialog(settings)}`
}

function addressDialog({ webhook_url }: Settings) {
  return settingsDialog(
    { id: 'set-address', title: 'Where events are sent', empty: { webhook_url: null } },
    html`<label
      >Address<input
        type="url"
        name="webhook_url"
        value="${webhook_url}"
        placeholder="https://example.com/hook"
        maxlength="2048"
      /><small>https, reachable from here. Empty: nothing is sent.</small></label
    >`,
  )
}

function eventsDialog({ events, events_configured, all_events }: Settings) {
  const chosen = new Set(events_configured ? events : all_events)
  return settingsDialog(
    { id: 'choose-events', title: 'Which events are sent', empty: { events: [] } },
    html`${!events_configured && html`<p class="quiet">All are sent, also those of later releases, until a list is saved here.</p>`}
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
      </fieldset>`,
  )
}

/** @param empty what is sent where no field says otherwise */
function settingsDialog(
  { id, title, empty }: { id: string; title: string; empty: object },
  fields: Markup,
) {
  return html`<dialog id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    <form
      class="form"
      data-send="PATCH /api/v1/org/notifications"
      data-body="${JSON.stringify(empty)}"
    >
      ${fields}
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Save</button
        ><button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}
