import { endpoint } from '../endpoint.ts'
import type { Unwritten } from '../endpoint.ts'
import { assetPath } from './assets.ts'
import { writeDocument } from './document.ts'
import { html } from './html.ts'
import type { Markup } from './html.ts'

/** The page that asks for a key. Outside every limit: whoever cannot pass it cannot do anything else. */
export const signInPage = endpoint('GET', '//console/sign-in', {
  summary: 'The sign-in page of the console',
  access: 'open',
  answers: {},
  write: (_, { body }: Unwritten) =>
    writeDocument({ title: 'Sign in', body: body as Markup, bodyClass: 'sign-in' }),
  handle: async ({ request }) => {
    const { next } = request.query as { next?: unknown }
    return form(isOwnPage(next) ? next : '/console/traces')
  },
})

/** Whether an address is a page of the console, and of no other site. */
function isOwnPage(address: unknown): address is string {
  return typeof address === 'string' && /^\/console\/(?!sign-in)[\w\-./?&=%+:~]*$/.test(address)
}

function form(next: string): Markup {
  return html`<main id="main">
    <img src="${assetPath('icon.svg')}" alt="" width="40" height="40" />
    <h1>Sign in</h1>
    <p class="quiet">With an API key. The session lasts 12 hours, or until the key is revoked.</p>
    <form data-send="POST /api/v1/auth/session" data-then="${next}">
      <label
        >API key<input
          name="api_key"
          type="password"
          autocomplete="current-password"
          required
          maxlength="1024"
          spellcheck="false"
          autofocus
      /></label>
      <p role="alert" class="error"></p>
      <button class="button primary">Sign in</button>
    </form>
    <p class="quiet">
      The first key is printed when the service first starts.
      <a class="link" href="/docs">Documentation</a>
    </p>
    <noscript><p class="error">Signing in needs JavaScript.</p></noscript>
  </main>`
}
