import type { Request } from '@hapi/hapi'
import { SESSION_HOURS } from '../access/session.ts'
import { endpoint } from '../endpoint.ts'
import type { Unwritten, Written } from '../written-answer.ts'
import { assetPath } from './assets.ts'
import { writeDocument } from './document.ts'
import { html, Markup } from './html.ts'

/** What is shown after signing in, unless another page was asked for. */
export const FIRST_PAGE = '/console/traces'

/** The page that asks for a key. Outside every limit: whoever cannot pass it cannot do anything else. */
export const signInPage = endpoint('GET', '//console/sign-in', {
  summary: 'The sign-in page of the console',
  access: 'open',
  answers: {},
  write: writeSignIn,
  handle: async ({ request }) => signInForm(readNext(request.query['next'])),
})

/** Writes a form, or what is wrong above an empty one. */
export function writeSignIn(_: Request, { status, body }: Unwritten): Written {
  const form =
    body instanceof Markup ? body : signInForm(FIRST_PAGE, (body as { detail: string }).detail)
  return writeDocument({ title: 'Sign in', body: form, bodyClass: 'sign-in' }, status)
}

/** A page of the console, as browsers write its address; FIRST_PAGE for anything else. */
function readNext(asked: unknown): string {
  if (typeof asked !== 'string' || !OWN_PAGE.test(asked)) return FIRST_PAGE
  const { origin, pathname, search } = new URL(asked, NOWHERE)
  return origin === NOWHERE && pathname + search === asked ? asked : FIRST_PAGE
}

/** @param fault why it is shown again */
export function signInForm(next: string, fault = ''): Markup {
  return html`<main id="main">
    <img src="${assetPath('icon.svg')}" alt="" width="40" height="40" />
    <h1>Sign in</h1>
    <p class="quiet">
      With an API key. The session lasts ${SESSION_HOURS} hours, or until the key is revoked.
    </p>
    <form data-send="POST /api/v1/auth/session" data-then="${next}" data-secure>
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
      <p role="alert" class="error">${fault}</p>
      <button class="button primary">Sign in</button>
    </form>
    <p class="quiet">
      The first key is printed by <code>npm start</code>, or by
      <code>npx node ops/admin.ts org create --name NAME --plan pro</code>.
      <a class="link" href="/docs">Documentation</a>
    </p>
    <noscript><p class="error">Signing in needs JavaScript.</p></noscript>
  </main>`
}

/** A path below /console, but the sign-in page, without an encoded slash, backslash or dot; and a query. */
const OWN_PAGE =
  /^\/console(?!\/sign-in|[^?]*(%2f|%5c|%2e|\/\/))\/[\w\-.~/%:@+*!,='()]*(\?[\w\-.~/%:@+*!,='()&?]*)?$/i
const NOWHERE = 'http://console.invalid'
