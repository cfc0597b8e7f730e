import { oneOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { updateDecision } from '../../sql/regression/checks.ts'
import { activateDraft } from '../../sql/transactions/activate-draft.ts'
import { endpoint } from '../endpoint.ts'
import { conflict } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { checkBody } from './check-body.ts'
import { checkPath, findVisibleCheck, viewCheck } from './check.ts'

export const decideCheck = endpoint('POST', '/regression-check/{check_id}/decision', {
  summary: 'Accept or reject the candidate of a regression check',
  description:
    'A draft that is accepted becomes the active version, which later checks of the agent compare with; one that is rejected stays a draft, unless production traffic runs it. A decision can be changed, which activates nothing else again.',
  access: 'key',
  params: checkPath,
  body: shape(
    { human_decision: oneOf('accepted', 'rejected') },
    { note: text(4000).allow('', null) },
  )
    .label('CheckDecision')
    .example({ human_decision: 'accepted', note: 'The tool was not used any more' }),
  answers: { 200: checkBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, body }) {
    const { orgId, keyId } = principal
    const check = await findVisibleCheck(context, principal, params.check_id)
    if (!check.findings) throw conflict('The check is not complete yet')
    const now = context.now()
    await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const { human_decision, note } = body
      const decision = { human_decision, note: note || null, by: keyId, at: now }
      await updateDecision(tx, orgId, check.id, decision)
      if (human_decision === 'rejected') return
      const occasion = { createdBy: keyId, now }
      await activateDraft(tx, context.queue, orgId, check.candidate_manifest_id, occasion)
    })
    return viewCheck(await findVisibleCheck(context, principal, check.id))
  },
})
