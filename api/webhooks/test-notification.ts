import type { Transaction } from '../../sql/core/db.ts'
import { emitEvent } from '../../sql/transactions/emit-event.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { deliveryWithAttempts, readWithAttempts } from './delivery.ts'

export const testNotification = endpoint('POST', '/org/notifications/test', {
  summary: 'Send an event named `test` to the configured address, whatever is selected',
  access: 'global-admin',
  answers: { 201: deliveryWithAttempts, 409: errorBody },
  async handle({ context, principal: { orgId } }) {
    const { sql, queue } = context
    const id = await queue.transaction(sql, (tx: Transaction) =>
      emitEvent(tx, queue, orgId, 'test', { message: 'This is a test.' }, context.now()),
    )
    if (!id) throw conflict('No webhook_url is configured')
    return new Answer(201, await readWithAttempts(sql, orgId, id))
  },
})
