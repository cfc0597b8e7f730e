import { activateDraft } from '../../jobs/activate-draft.ts'
import * as drafts from '../../sql/transactions/activate-draft.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const activateDraftHandler = transactionalHandler(
  activateDraft,
  async ({ manifest_id }, { orgId, queue, now }, tx) => {
    await drafts.activateDraft(tx, queue, orgId, manifest_id, { createdBy: null, now: now() })
  },
)
