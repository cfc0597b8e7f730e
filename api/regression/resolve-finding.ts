import { shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { announceFinding } from '../../sql/transactions/announce-finding.ts'
import * as findings from '../../sql/regression/findings.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { maySee, readableProjects } from '../projects.ts'
import { findingBody, readFinding, viewFinding } from './finding.ts'

export const resolveFinding = endpoint(
  'POST',
  '/agents/{agent_name}/bisect/findings/{finding_id}/resolve',
  {
    summary: 'Mark a regression as resolved',
    description: 'Again, it changes nothing. Sends `regression.resolved` the first time.',
    access: 'key',
    params: shape({ agent_name: textReference(), finding_id: uuidReference() }),
    body: shape({}, { note: text(4000).allow('', null) })
      .label('FindingResolution')
      .example({ note: 'Rolled back' }),
    answers: { 200: findingBody, 404: errorBody },
    async handle({ context, principal, params, body }) {
      const { orgId, keyId } = principal
      const visible = await readableProjects(context.sql, principal, undefined)
      const finding = await readFinding(context.sql, orgId, params.finding_id)
      const isVisible = maySee(visible, finding.project_id)
      if (!isVisible || finding.agent_name !== params.agent_name) throw notFound('Finding')
      await context.queue.transaction(context.sql, async (tx: Transaction) => {
        const at = context.now()
        const resolved = {
          resolution: 'manual',
          note: body.note || undefined,
          by: keyId,
          at,
        } as const
        if (!(await findings.resolveFinding(tx, orgId, finding.id, resolved))) return
        await announceFinding(tx, context.queue, orgId, 'regression.resolved', finding, at)
      })
      return viewFinding(await readFinding(context.sql, orgId, finding.id))
    },
  },
)
