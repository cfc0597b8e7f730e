import Joi from 'joi'
import { PLANS } from '../../jobs/rules/org/plan.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'

export const callerBody = Joi.object({
  user: Joi.object({ id: Joi.string().guid().required(), name: Joi.string().required() })
    .required()
    .description('The API key that the call or the session acts as')
    .label('User'),
  org: Joi.object({
    id: Joi.string().guid().required(),
    name: Joi.string().required(),
    plan: Joi.string()
      .valid(...PLANS)
      .required(),
  })
    .required()
    .label('Organization'),
  role: Joi.string()
    .valid('admin', 'member', 'viewer')
    .required()
    .description('admin: admin permission over the whole organization; viewer: may only read'),
  scope: Joi.string().valid('global', 'workspace', 'project').required(),
  session_expires_at: nullable(times).description(
    'When the session is over, at the latest; null for a key',
  ),
}).label('Caller')

export function viewCaller(principal: Principal) {
  return {
    user: { id: principal.keyId, name: principal.keyLabel },
    org: { id: principal.orgId, name: principal.orgName, plan: principal.plan },
    role: roleOf(principal),
    scope: principal.scope,
    session_expires_at: principal.session?.expiresAt ?? null,
  }
}

function roleOf({ scope, permissions }: Principal) {
  if (permissions === 'read') return 'viewer'
  return scope === 'global' && permissions === 'admin' ? 'admin' : 'member'
}
