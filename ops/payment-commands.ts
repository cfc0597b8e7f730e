import { shape, text, uuid } from '../jobs/shape.ts'
import type { Transaction } from '../sql/core/db.ts'
import { findOrganization } from '../sql/org/organizations.ts'
import { applyEventsOfNobody } from '../sql/transactions/apply-payment.ts'
import { lockPaymentCustomer, setPaymentCustomer } from '../sql/webhooks/payments.ts'
import { auditOperator } from './audit.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { noOrganization, OperatorError } from './operator-error.ts'

export const paymentCommands: readonly Command[] = [
  command('org set-payment-customer', {
    usage:
      '--org ID --customer ID # whose payments are those of the organization, in the place of its last one; applies the events that came before',
    options: shape({ org: uuid(), customer: text(255) }),
    async run({ org, customer }, { database }) {
      const { sql } = await database()
      return withBoss(sql, (boss) => {
        const queue = openProcessQueue(boss, sql)
        return queue.transaction(sql, async (tx: Transaction) => {
          const found = await findOrganization(tx, org)
          if (!found) throw noOrganization(org)
          const owner = await lockPaymentCustomer(tx, customer)
          if (owner !== undefined && owner !== found.id)
            throw new OperatorError(`The organization ${owner} has the customer ${customer}.`)
          await setPaymentCustomer(tx, org, customer)
          const applied = await applyEventsOfNobody(tx, queue, customer, new Date())
          await auditOperator(tx, org, 'payment_customer.changed', org, { name: customer })
          return { org_id: org, payment_customer_id: customer, applied_events: applied }
        })
      })
    },
  }),
]
