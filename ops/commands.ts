import { randomBytes } from 'node:crypto'
import Joi from 'joi'
import { makeKey } from '../jobs/rules/access/api-key.ts'
import { PLAN_RATES } from '../jobs/rules/org/plan.ts'
import { NAME_PATTERN } from '../jobs/rules/skills/skill.ts'
import { bool, int, oneOf, shape, text, time, uuid } from '../jobs/shape.ts'
import { findKeyOrganization, refuseKey, revokeKey } from '../sql/access/api-keys.ts'
import type { Sql } from '../sql/core/db.ts'
import {
  findOrganization,
  findProject,
  findWorkspace,
  listOrganizations,
  updateHandle,
  updatePlan,
  setSuspended,
  updateRate,
} from '../sql/org/organizations.ts'
import { recount } from '../sql/traces/count-changes.ts'
import { auditOperator } from './audit.ts'
import { backupCommands } from './backup-commands.ts'
import { command } from './command.ts'
import type { Access, Command } from './command.ts'
import { deadLetterCommands } from './dead-letter-commands.ts'
import { examine } from './doctor.ts'
import { jobCommands } from './job-commands.ts'
import { deletionCommands } from './deletion-commands.ts'
import { migrateAll } from './migrate.ts'
import { createKey, createOrganization } from './organizations.ts'
import { paymentCommands } from './payment-commands.ts'
import { queueCommands } from './queue-commands.ts'
import { noOrganization, OperatorError } from './operator-error.ts'
import { rewriteCommands } from './rewrite-commands.ts'
import { secretCommands } from './secret-commands.ts'
import { skillCommands } from './skill-commands.ts'
import { usageCommands } from './usage-commands.ts'

/** Characters of a handle, as one that is made of a name has at most. */
const MAX_HANDLE = 24
const plan = oneOf('free', 'core', 'pro', 'enterprise')

export const commands: readonly Command[] = [
  command('org create', {
    usage: '--name NAME --plan free|core|pro|enterprise [--billing-contact MAIL]',
    options: shape(
      { name: text(), plan },
      { 'billing-contact': Joi.string().email({ tlds: false }) },
    ),
    async run({ name, plan, 'billing-contact': billingContact }, { config, database }) {
      const { sql } = await database()
      const prefix = config.KEY_PREFIX
      return sql.begin((tx) => createOrganization(tx, { name, plan, billingContact, prefix }))
    },
  }),

  command('org list', {
    usage: '[--name NAME] # by name, 1000 at most',
    options: shape({}, { name: text() }),
    async run({ name }, { database }) {
      const { sql } = await database()
      return { organizations: await listOrganizations(sql, { name, limit: 1000 }) }
    },
  }),

  command('org set-plan', {
    usage: '--org ID --plan free|core|pro|enterprise',
    options: shape({ org: uuid(), plan }),
    async run({ org, plan }, { database }) {
      const { sql } = await database()
      if (!(await updatePlan(sql, org, plan))) throw noOrganization(org)
      return { org_id: org, plan }
    },
  }),

  command('org set-rate', {
    usage: '--org ID [--per-minute N --burst N] # without numbers: those of the enterprise plan',
    options: shape(
      { org: uuid() },
      {
        'per-minute': int(PLAN_RATES.enterprise.perMinute, 1e9),
        burst: int(PLAN_RATES.enterprise.burst, 1e9),
      },
    ).and('per-minute', 'burst'),
    async run({ org, 'per-minute': perMinute, burst }, { database }) {
      const { sql } = await database()
      const rate = perMinute && burst ? { perMinute, burst } : null
      if (!(await updateRate(sql, org, rate))) throw noOrganization(org)
      return { org_id: org, per_minute: perMinute ?? null, burst: burst ?? null }
    },
  }),

  command('org set-handle', {
    usage: '--org ID --handle NAME # names it in the registry; not while it has published skills',
    options: shape({
      org: uuid(),
      handle: Joi.string().max(MAX_HANDLE).pattern(NAME_PATTERN, 'lower-case words and hyphens'),
    }),
    async run({ org, handle }, { database }) {
      const { sql } = await database()
      await sql.begin(async (tx) => {
        const outcome = await updateHandle(tx, org, handle)
        if (outcome === undefined) throw noOrganization(org)
        if (outcome === 'taken') throw new OperatorError(`Another organization is ${handle}.`)
        if (outcome === 'published') {
          throw new OperatorError(
            'The organization has published skills, which are found by its handle.',
          )
        }
        await auditOperator(tx, org, 'organization.renamed', org, { name: handle })
      })
      return { org_id: org, handle }
    },
  }),

  command('org suspend', {
    usage: '--org ID # its keys are refused until org resume',
    options: shape({ org: uuid() }),
    run: ({ org }, access) => suspend(org, true, access),
  }),

  command('org resume', {
    usage: '--org ID',
    options: shape({ org: uuid() }),
    run: ({ org }, access) => suspend(org, false, access),
  }),

  ...paymentCommands,
  ...deletionCommands,

  command('key create', {
    usage:
      '--org ID [--scope global|workspace|project] [--workspace ID] [--project ID] [--permissions read|write|admin] [--expires-at TIME] [--label TEXT]',
    options: shape(
      { org: uuid() },
      {
        scope: oneOf('global', 'workspace', 'project'),
        workspace: text(),
        project: text(),
        permissions: oneOf('read', 'write', 'admin'),
        'expires-at': time(),
        label: text(128),
      },
    ),
    async run({ org: org_id, ...options }, { config, database }) {
      const { sql } = await database()
      if (!(await findOrganization(sql, org_id))) throw noOrganization(org_id)
      const { scope = 'global', permissions = 'admin', label = 'made by the operator' } = options
      const key = {
        org_id,
        label,
        scope,
        permissions,
        ...(await findPlace(sql, org_id, scope, options)),
        expires_at: options['expires-at'] ?? null,
      }
      const { id, api_key } = await sql.begin(async (tx) => {
        const refusal = await refuseKey(tx, org_id)
        if (refusal) throw new OperatorError(`${refusal}.`)
        const made = await createKey(tx, config.KEY_PREFIX, key)
        await auditOperator(tx, org_id, 'api_key.created', made.id, { label, scope, permissions })
        return made
      })
      return { id, ...key, api_key }
    },
  }),

  command('key revoke', {
    usage: 'ID',
    options: shape({ id: uuid() }),
    positional: 'id',
    async run({ id }, { database }) {
      const { sql } = await database()
      const org_id = await findKeyOrganization(sql, id)
      const revoked =
        org_id &&
        (await sql.begin(async (tx) => {
          const key = await revokeKey(tx, org_id, id)
          if (key) await auditOperator(tx, org_id, 'api_key.revoked', id, { label: key.label })
          return key
        }))
      if (!revoked) throw new OperatorError(`There is no key ${id} that could be revoked.`)
      return { id, org_id, revoked: true, revoked_at: revoked.revoked_at }
    },
  }),

  command('key make', {
    usage: '# a well-formed key for INIT_API_KEY; stores nothing',
    options: shape({}),
    run: async (_, { config }) => ({ api_key: makeKey(config.KEY_PREFIX, randomBytes(64)) }),
  }),

  ...jobCommands,
  ...queueCommands,
  ...deadLetterCommands,
  ...secretCommands,
  ...usageCommands,
  ...backupCommands,
  ...rewriteCommands,
  ...skillCommands,

  command('migrate', {
    usage:
      '[--finish] # --finish: after every process of the release before is gone; afterwards that release cannot be rolled back to',
    options: shape({}, { finish: bool() }),
    async run({ finish }, { database }) {
      const { url } = await database()
      const print = (_: object, message: string) => void process.stderr.write(`${message}\n`)
      const waiting = await migrateAll(url, { info: print, warn: print }, { finish })
      return { migrated: true, waiting }
    },
  }),

  command('recount', {
    usage: '# counts traces, decisions and edges again, and puts right what was counted wrong',
    options: shape({}),
    async run(_, { database }) {
      const { sql } = await database()
      return recount(sql)
    },
  }),

  command('doctor', {
    usage: '',
    options: shape({}),
    async run(_, { config, database }) {
      const { url, sql } = await database()
      const report = await examine(config, sql, url)
      if (!report.ok) process.exitCode = 1
      return report
    },
  }),
]

async function suspend(orgId: string, isSuspended: boolean, { database }: Access) {
  const { sql } = await database()
  const action = isSuspended ? 'organization.suspended' : 'organization.resumed'
  await sql.begin(async (tx) => {
    if (!(await setSuspended(tx, orgId, isSuspended))) throw noOrganization(orgId)
    const name = (await findOrganization(tx, orgId))?.name
    await auditOperator(tx, orgId, action, orgId, { name })
  })
  return { org_id: orgId, suspended: isSuspended }
}

/** What the key is fixed to, by id or name. @throws OperatorError when the organization does not have it */
async function findPlace(
  sql: Sql,
  orgId: string,
  scope: 'global' | 'workspace' | 'project',
  named: { workspace?: string | undefined; project?: string | undefined },
) {
  switch (scope) {
    case 'global':
      return { workspace_id: null, project_id: null }
    case 'workspace': {
      const found = await findWorkspace(sql, orgId, named.workspace ?? '')
      if (!found)
        throw new OperatorError(
          'A workspace-scoped key needs --workspace, one of the organization.',
        )
      return { workspace_id: found.id, project_id: null }
    }
    case 'project': {
      const found = await findProject(sql, orgId, named.project ?? '')
      if (!found)
        throw new OperatorError('A project-scoped key needs --project, one of the organization.')
      return { workspace_id: found.workspace_id, project_id: found.id }
    }
  }
}
