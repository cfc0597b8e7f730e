import { documentedPath, pathsOf } from '../../api/endpoint.ts'
import type { Endpoint } from '../../api/endpoint.ts'

export const SCOPES = ['global', 'workspace', 'project'] as const
export const PERMISSIONS = ['read', 'write', 'admin'] as const

/** The answer of authentication to a caller, before anything else is looked at: allowed, 401 or 403. */
export type Verdict = 'yes' | 401 | 403

export interface AccessRow {
  readonly method: string
  /** Full. */
  readonly path: string
  readonly withoutKey: Verdict
  /** By scope and permission, `<scope> <permission>`. */
  readonly withKey: Readonly<Record<string, Verdict>>
}

/**
 * Who may call what, worked out from the declarations alone: `api/auth.ts` decides it in another way,
 * and a test compares the two.
 */
export function accessRows(operations: readonly Endpoint[]): AccessRow[] {
  return operations.flatMap((operation) =>
    pathsOf(operation).map(({ path }) => ({
      method: operation.method,
      path: documentedPath(path),
      withoutKey: isForAll(operation) ? 'yes' : 401,
      withKey: Object.fromEntries(
        SCOPES.flatMap((scope) =>
          PERMISSIONS.map((permission) => [
            `${scope} ${permission}`,
            isForAll(operation) || mayCall(operation, scope, permission) ? 'yes' : 403,
          ]),
        ),
      ),
    })),
  )
}

/** Head and rows of the table in `access.md`. */
export function accessTable(operations: readonly Endpoint[]) {
  const kinds = SCOPES.flatMap((scope) => PERMISSIONS.map((each) => `${scope} ${each}`))
  return {
    head: ['operation', 'no key', ...kinds],
    rows: accessRows(operations).map(({ method, path, withoutKey, withKey }) => [
      `\`${method} ${path}\``,
      String(withoutKey),
      ...kinds.map((kind) => String(withKey[kind])),
    ]),
  }
}

function isForAll({ access }: Endpoint) {
  return access === 'open' || access === 'public'
}

function mayCall(
  { method, access }: Endpoint,
  scope: (typeof SCOPES)[number],
  permission: (typeof PERMISSIONS)[number],
) {
  const methods = { read: ['GET'], write: ['GET', 'POST', 'PUT', 'PATCH'], admin: [method] }
  const needsAdmin = access === 'global-admin' || (access === 'key-or-admin' && scope === 'global')
  const scopes = { global: ['global'], 'global-admin': ['global'] } as const
  const permissions = needsAdmin ? ['admin'] : PERMISSIONS
  return (
    methods[permission].includes(method) &&
    ((scopes as Record<string, readonly string[]>)[access] ?? SCOPES).includes(scope) &&
    permissions.includes(permission)
  )
}
