import type { Request } from '@hapi/hapi'
import { endpoint } from '../endpoint.ts'
import type { Answered, Call, Endpoint } from '../endpoint.ts'
import type { Access, Principal } from '../principal.ts'
import { askOperation } from '../serve-endpoint.ts'
import type { Unwritten, Written } from '../written-answer.ts'
import { writeDocument } from './document.ts'
import { html } from './html.ts'
import { frame } from './layout.ts'
import type { AreaName, Shown } from './layout.ts'

/** One screen: where it is, its place in the menu, and how it is made of what operations answer. */
export interface Screen {
  /** Undefined for what stands in no area of the menu. */
  readonly area?: AreaName
  /** Default `key`: whoever has a key. */
  readonly access?: Access
  readonly show: (visit: Visit) => Promise<Shown>
}

/** What a page is made with. */
export interface Visit {
  readonly now: Date
  readonly principal: Principal
  /** The key may write; without it a page shows no buttons. */
  readonly mayWrite: boolean
  readonly params: Readonly<Record<string, string>>
  /** The query as it is in the address, each member once. */
  readonly query: Query
  /** Where the browser reaches this service, such as `http://127.0.0.1:3000`. */
  readonly address: string
  readonly call: Call<never, never, never>
  /** Asks an operation in this process, with the caller's rights and without a token of its own. */
  ask<A>(operation: Endpoint<A>, given?: Asked): Promise<Answered<A>>
}

export type Query = Readonly<Record<string, string | undefined>>

interface Asked {
  readonly params?: object
  /** Members that are undefined or empty are left out. */
  readonly query?: object
}

export type Page = Endpoint<Shown>

/** @param path below `/console` */
export function page(path: string, { area, access = 'key', show }: Screen): Page {
  return endpoint('GET', `//console${path}`, {
    summary: `The page ${path} of the console`,
    access,
    answers: {},
    write: (request, answer) => writePage(area, request, answer),
    handle: (call) => show(visitOf(call)),
  })
}

export function visitOf(call: Call<unknown, unknown, unknown>): Visit {
  const { context, principal, request } = call
  const params = request.params as Record<string, string>
  const protocol = request.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return {
    now: context.now(),
    principal,
    mayWrite: principal.permissions !== 'read',
    params,
    query: singly(request.query as Record<string, string | string[]>),
    address: `${protocol}://${request.info.host}`,
    call: call as Call<never, never, never>,
    ask: (operation, { params = {}, query = {} } = {}) =>
      askOperation(operation, call, { params, query: given(query) }),
  }
}

/** What of `operation`'s answer there is; undefined where it answers 404. */
export async function ifFound<A>(answer: Promise<A>): Promise<A | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 404) return undefined
    throw error
  }
}

function writePage(
  area: AreaName | undefined,
  request: Request,
  { status, body }: Unwritten,
): Written {
  if (status === 401) return leadToSignIn(request)
  const shown = status < 400 ? (body as Shown) : describeError(status, body as ErrorBody)
  const principal = request.auth.credentials?.user?.principal
  return writeDocument(frame({ ...shown, area, principal }), status)
}

/** Who has no session, or none any more, is asked for a key and comes back. */
function leadToSignIn({ url }: Request): Written {
  const next = encodeURIComponent(url.pathname + url.search)
  return {
    status: 303,
    type: 'text/html',
    content: '',
    headers: { Location: `/console/sign-in?next=${next}`, 'Cache-Control': 'no-store' },
  }
}

function describeError(status: number, { detail, code, request_id }: ErrorBody): Shown {
  const text = typeof detail === 'string' ? detail : detail.message
  return {
    title: TITLES[status] ?? (status < 500 ? 'This cannot be shown' : 'Something went wrong'),
    body: html`<section class="notice">
      <p class="notice-sign" aria-hidden="true">${status}</p>
      <p>${text}</p>
      <p class="quiet">Request <code>${request_id}</code> · <code>${code}</code></p>
      <p><a class="button" href="/console/traces">To the traces</a></p>
    </section>`,
  }
}

const TITLES: Readonly<Record<number, string>> = {
  403: 'Your key may not see this',
  404: 'Not found',
  422: 'The address has a mistake',
  429: 'Too many requests',
  503: 'Busy at the moment',
}

function singly(query: Readonly<Record<string, string | readonly string[]>>): Query {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : value.at(-1),
    ]),
  )
}

function given(query: object) {
  return Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== ''),
  )
}

interface ErrorBody {
  readonly detail: string | { readonly message: string }
  readonly code: string
  readonly request_id: string
}
