import type { Request, Server } from '@hapi/hapi'
import { displayPrefix, hashKey, isWellFormedKey } from '../jobs/rules/access/api-key.ts'
import type { Admission, CredentialHash } from '../sql/access/api-keys.ts'
import { admitKey } from './admissions.ts'
import type { ApiContext } from './context.ts'
import { ApiError, forbidden, unauthorized } from './errors.ts'
import { headerOf } from './header.ts'
import { isSameOrigin } from './origin.ts'
import { scopeOf } from './principal.ts'
import type { Access, Caller, Principal } from './principal.ts'
import { admit, admitAddress, openRefusals } from './rate-limit.ts'
import type { RateState, Refusals } from './rate-limit.ts'
import { hashSessionToken, readSessionCookie } from './session-cookie.ts'

/**
 * The one place that decides who may call what: the credential (401), its rate limit (429), then
 * method, permission and class of scope (403), all before the body is read. Which projects a caller
 * may use is decided in `projects.ts`.
 */
export function registerAuth(server: Server, context: ApiContext) {
  const refusals = openRefusals()
  server.auth.scheme('key', () => ({
    async authenticate(request, h) {
      const { access = 'key' } = request.route.settings.app ?? {}
      const caller = await identify(request, access, context, refusals)
      if (caller && access !== 'public') authorize(caller.principal, request, access)
      return h.authenticated({ credentials: caller ? { user: caller } : {} })
    },
  }))
  server.auth.strategy('key', 'key')
}

/**
 * Finds who calls; undefined where nobody needs to be known. A request without a good credential counts
 * against the limit of its address.
 */
async function identify(request: Request, access: Access, context: ApiContext, refusals: Refusals) {
  try {
    return await authenticate(request, context, refusals)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    admitAddress(request)
    if (access !== 'public') throw error
    return undefined
  }
}

async function authenticate(request: Request, context: ApiContext, refusals: Refusals) {
  const credential = readCredential(request, context.keyPrefix)
  if (!credential.isSession) {
    request.app.key_prefix = displayPrefix(context.keyPrefix, credential.secret)
  }
  const id = credential.hash.toString('base64')
  const refused = refusals.find(id)
  if (refused) admit(request, refused)
  const { principal, rate } = await findPrincipal(context, credential)
  request.app.org_id = principal.orgId
  if (rate.waitSeconds > 0) refusals.add(id, rate)
  admit(request, rate)
  return { principal, secret: credential.secret } satisfies Caller
}

/**
 * The bearer key, or the password of Basic credentials where the operation takes them, else the key of
 * `x-api-key`, else the session of the cookie.
 */
function readCredential(request: Request, keyPrefix: string): Credential {
  const authorization = headerOf(request, 'authorization')
  if (authorization !== undefined) {
    const { takesBasic = false } = request.route.settings.app?.operation ?? {}
    const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1]
    const key = bearer ?? (takesBasic ? passwordOf(authorization) : undefined)
    return keyCredential(keyPrefix, key ?? '')
  }
  const bare = headerOf(request, 'x-api-key')
  if (bare !== undefined) return keyCredential(keyPrefix, bare)
  const token = readSessionCookie(headerOf(request, 'cookie'))
  if (token === undefined) throw unauthorized('Missing API key')
  return { hash: hashSessionToken(token), isSession: true, secret: token }
}

/** The password of Basic credentials; the user name is not looked at. */
function passwordOf(authorization: string): string | undefined {
  if (authorization.length > MAX_BASIC_LENGTH) return undefined
  const encoded = /^basic +([\w+/-]+={0,2}) *$/i.exec(authorization)?.[1]
  const [, ...password] = Buffer.from(encoded ?? '', 'base64')
    .toString()
    .split(':')
  return encoded === undefined ? undefined : password.join(':')
}

/** @throws ApiError 401 for a text that cannot be a key, without asking the database */
export function keyCredential(keyPrefix: string, key: string): Credential {
  if (key === '' || key.length > MAX_KEY_LENGTH || !key.startsWith(`${keyPrefix}sk_`)) {
    throw unauthorized('Malformed API key')
  }
  if (!isWellFormedKey(keyPrefix, key)) throw unauthorized('Invalid API key')
  return { hash: hashKey(key), isSession: false, secret: key }
}

/**
 * Finds whom a credential stands for, and the state of its bucket after this request.
 * @throws ApiError 401 for one that is unknown, revoked or expired
 */
export async function findPrincipal(context: ApiContext, credential: CredentialHash) {
  const found = await admitKey(context.pools, credential)
  const session = found && sessionOf(found)
  if (credential.isSession && (!session || found.revoked || found.expired)) {
    throw unauthorized('Session has expired')
  }
  if (!found) throw unauthorized('Invalid API key')
  if (found.revoked) throw unauthorized('API key has been revoked')
  if (found.expired) throw unauthorized('API key has expired')
  const principal: Principal = {
    ...scopeOf(found),
    orgId: found.org_id,
    orgName: found.org_name,
    plan: found.plan,
    keyId: found.id,
    keyLabel: found.label,
    permissions: found.permissions,
    session,
  }
  const rate: RateState = {
    perMinute: found.per_minute,
    remaining: found.remaining,
    fullSeconds: found.full_seconds,
    waitSeconds: found.wait_seconds,
  }
  return { principal, rate }
}

function sessionOf({ session_id: id, session_expires_at: expiresAt }: Admission) {
  return id && expiresAt ? { id, expiresAt } : undefined
}

/** @throws ApiError 403 for who may not make this request, or not call an operation with this access rule */
export function authorize(principal: Principal, request: Request, access: Access) {
  const { scope, permissions, session } = principal
  const isReading = request.method === 'get' || request.method === 'head'
  // A browser sends the cookie along with requests that other sites make.
  if (session && !isReading && !isSameOrigin(request)) {
    throw forbidden('A session may only be used from the same origin')
  }
  if (permissions === 'read' && !isReading) throw forbidden('This API key may only read')
  if (permissions === 'write' && request.method === 'delete') {
    throw forbidden('This API key may not delete')
  }
  if (access === 'key') return
  if (access === 'key-or-admin' && scope !== 'global') return
  if (scope !== 'global') throw forbidden('This operation needs a global-scoped API key')
  if (access !== 'global' && permissions !== 'admin') {
    throw forbidden('This operation needs an API key with admin permission')
  }
}

const MAX_KEY_LENGTH = 100
const MAX_BASIC_LENGTH = 1024

interface Credential {
  readonly hash: Buffer
  readonly isSession: boolean
  readonly secret: string
}

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** What may be shown of the key that the request came with, good or not; not set for a session. */
    key_prefix?: string
    /** Whose credential the request came with, once that is known; set for a refused request too. */
    org_id?: string
  }
}
