import Joi from 'joi'
import { requestDeletion } from '../jobs/delete-organization.ts'
import { shape, text, uuid } from '../jobs/shape.ts'
import type { Transaction } from '../sql/core/db.ts'
import { markDeleted } from '../sql/org/deleted-organizations.ts'
import { findOrganization, updateRetention } from '../sql/org/organizations.ts'
import { auditOperator } from './audit.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { noOrganization, OperatorError } from './operator-error.ts'

export const deletionCommands: readonly Command[] = [
  command('org set-retention', {
    usage: '--org ID --days N|none # deletes its traces so many days after they came',
    options: shape({
      org: uuid(),
      days: Joi.number<number | 'none'>().integer().min(1).max(36_500).allow('none'),
    }),
    async run({ org, days }, { database }) {
      const { sql } = await database()
      const kept = days === 'none' ? null : days
      await sql.begin(async (tx) => {
        if (!(await updateRetention(tx, org, kept))) throw noOrganization(org)
        await auditOperator(tx, org, 'trace_retention.changed', org, { kept_days: kept })
      })
      return { org_id: org, retention_days: kept }
    },
  }),

  command('org delete', {
    usage:
      '--org ID --confirm NAME # with everything of it, for good; its keys are refused at once. Again, it says whether it is under way',
    options: shape({ org: uuid(), confirm: text() }),
    async run({ org, confirm }, { database }) {
      const { sql } = await database()
      const found = await findOrganization(sql, org)
      if (!found) throw noOrganization(org)
      return withBoss(sql, (boss) => {
        const queue = openProcessQueue(boss, sql)
        return queue.transaction(sql, async (tx: Transaction) => {
          const requested = await markDeleted(tx, org, confirm)
          if (!requested)
            throw new OperatorError(
              `The name of the organization is not "${confirm}": nothing was deleted.`,
            )
          await requestDeletion(queue, tx, org)
          return { org_id: org, name: found.name, deletion_requested_at: requested }
        })
      })
    },
  }),
]
