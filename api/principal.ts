import type { Plan } from '../jobs/rules/org/plan.ts'
import type { Admission } from '../sql/access/api-keys.ts'

/** On whose behalf a request acts. */
export type Principal = Scope & {
  readonly orgId: string
  readonly orgName: string
  readonly plan: Plan
  /** The key itself, or the one that opened the session. */
  readonly keyId: string
  readonly keyLabel: string
  readonly permissions: 'read' | 'write' | 'admin'
  /** The browser session whose cookie the request came with; undefined for the key itself. */
  readonly session: { readonly id: string; readonly expiresAt: Date } | undefined
}

/** The part of its organization that a key may use: all of it, one workspace, or one project. */
export type Scope =
  | { readonly scope: 'global'; readonly workspaceId: null; readonly projectId: null }
  | { readonly scope: 'workspace'; readonly workspaceId: string; readonly projectId: null }
  | { readonly scope: 'project'; readonly workspaceId: string; readonly projectId: string }

export function scopeOf(key: Pick<Admission, 'scope' | 'workspace_id' | 'project_id'>): Scope {
  const { scope, workspace_id: workspaceId, project_id: projectId } = key
  if (scope === 'global') return { scope, workspaceId: null, projectId: null }
  if (workspaceId === null) throw new Error(`A key of ${scope} scope has no workspace`)
  if (scope === 'workspace') return { scope, workspaceId, projectId: null }
  if (projectId === null) throw new Error('A key of project scope has no project')
  return { scope, workspaceId, projectId }
}

/** Who sent a request, and with which secret. */
export interface Caller {
  readonly principal: Principal
  /** The API key or session token it came with; never stored or logged. */
  readonly secret: string
}

/**
 * Who may call: anybody, outside every rate limit (`open`); anybody (`public`); any key whose
 * permission allows the method (`key`); only a global-scoped one (`global`); only a global-scoped one
 * with admin permission (`global-admin`); any key of a workspace or a project, and a global-scoped one
 * with admin permission (`key-or-admin`).
 */
export type Access = 'open' | 'public' | 'key' | 'global' | 'global-admin' | 'key-or-admin'

declare module '@hapi/hapi' {
  interface UserCredentials extends Caller {}
}
