import type { listSessions } from '../../access/list-sessions.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ago, sendButton } from '../parts.ts'

type Session = AnswerOf<typeof listSessions>['sessions'][number]

/** The browsers that are signed in by a key, each with a button that ends its session for who may end it. */
export function keySessions(
  keyId: string,
  sessions: readonly Session[],
  { mayEnd, now }: { readonly mayEnd: boolean; readonly now: Date },
): Markup {
  if (sessions.length === 0) {
    return html`<p class="quiet">No browser is signed in by this key.</p>`
  }
  return html`<ul class="sessions" aria-label="Sessions">
    ${sessions.map(
      ({ id, created_at, expires_at, last_used_at, is_current }) =>
        html`<li>
          <span
            >Signed in
            ${ago(created_at, now)}${is_current && html` <span class="tag">this one</span>`}</span
          >
          <span class="quiet">used ${last_used_at ? ago(last_used_at, now) : 'never'}</span>
          <span class="quiet">ends ${ago(expires_at, now)}</span>
          ${mayEnd && sendButton('End', `DELETE /api-keys/${keyId}/sessions/${id}`, { confirm: is_current ? OWN : OTHER, kind: 'small' })}
        </li>`,
    )}
  </ul>`
}

const OWN = 'End this session? It is yours: you will be signed out.'
const OTHER = 'End this session? Its browser has to sign in again.'
