import type { Request } from '@hapi/hapi'
import { hashSignInCode, SIGN_IN_MINUTES } from '../../jobs/rules/access/sign-in-code.ts'
import { takeSignInLink } from '../../sql/access/sign-in-links.ts'
import { makeSession } from '../access/session.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { headerOf } from '../header.ts'
import { isFromThisMachine } from '../loopback.ts'
import { html } from './html.ts'
import { FIRST_PAGE, signInForm, writeSignIn } from './sign-in.ts'

/**
 * The link that a start prints: it opens a session once, within SIGN_IN_MINUTES, for who sits at this machine.
 * Programs that look ahead at links do not use it up.
 */
export const signInLink = endpoint('GET', '//console/sign-in/{code}', {
  summary: 'The sign-in link of the console',
  access: 'public',
  answers: {},
  write: writeSignIn,
  async handle({ context, request }) {
    const headers = await useLink(context, request)
    if (!headers) return new Answer(403, signInForm(FIRST_PAGE, USELESS))
    return new Answer(303, html``, { ...headers, Location: FIRST_PAGE })
  },
})

/** @returns the headers that give the browser its session; undefined for a link that is not to be used */
async function useLink({ pools, now }: ApiContext, request: Request) {
  const hash = hashSignInCode(request.params['code'] as string)
  if (!hash || !isFromThisMachine(request) || !isOpenedByPerson(request)) return undefined
  const session = await pools.write.begin(async (tx) => {
    const key = await takeSignInLink(tx, hash)
    return key && makeSession(tx, request, key, now())
  })
  return session?.headers
}

/** Whether a browser, if it tells, opens this as a page of its own, at the wish of who sits before it. */
function isOpenedByPerson(request: Request) {
  const site = headerOf(request, 'sec-fetch-site') ?? 'none'
  const destination = headerOf(request, 'sec-fetch-dest') ?? 'document'
  return (
    request.method === 'get' &&
    (site === 'none' || site === 'same-origin') &&
    destination === 'document' &&
    !AHEAD_HEADERS.some((name) => name in request.headers)
  )
}

/** By which browsers say that nobody looks yet. */
const AHEAD_HEADERS = ['purpose', 'sec-purpose', 'x-purpose', 'x-moz']
const USELESS = `A sign-in link works once, within ${SIGN_IN_MINUTES} minutes, in a browser on the machine that printed it. This one does not, or no more. Sign in with a key, or start the service again for another link.`
