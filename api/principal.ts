import type { Plan } from '../jobs/rules/plan.ts'

/** On whose behalf a request acts. */
export interface Principal {
  readonly orgId: string
  readonly orgName: string
  readonly plan: Plan
  /** The key itself, or the one that opened the session. */
  readonly keyId: string
  readonly keyLabel: string
  readonly scope: 'global' | 'workspace' | 'project'
  readonly permissions: 'read' | 'write' | 'admin'
  /** Set for workspace and project scope. */
  readonly workspaceId: string | null
  /** Set for project scope. */
  readonly projectId: string | null
  /** The request came with a browser session's cookie. */
  readonly isSession: boolean
}

/** Whom a request was let in as. */
export interface Caller {
  readonly principal: Principal
  /** The API key or session token it came with; never stored or logged. */
  readonly secret: string
}

/**
 * Who may call: anybody, outside every rate limit (`open`); anybody (`public`); any key whose
 * permission allows the method (`key`); only a global-scoped one (`global`); only a global-scoped one
 * with admin permission (`global-admin`).
 */
export type Access = 'open' | 'public' | 'key' | 'global' | 'global-admin'
