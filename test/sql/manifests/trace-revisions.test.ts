import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { upsertRevisions } from '../../../sql/manifests/trace-revisions.ts'
import type { RepairedTrace } from '../../../sql/manifests/trace-revisions.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { reviseTrace } from '../../../sql/transactions/revise-trace.ts'
import { makeAgent, toolComponent } from '../../support/agents.ts'
import { callingRow } from '../../support/calling-rows.ts'
import { openService } from '../../support/service.ts'

const service = await openService(t)
const { sql, context } = service

t.test('a trace is not revised while a repair of what it says is being stored', async (t) => {
  const { org, register } = await makeAgent(service)
  const { manifest_id } = await register([toolComponent('a')])
  const row = callingRow(org, { manifest_id, ageSeconds: 0, n: 0 })
  await insertTraces(sql, [row])
  const key = { org_id: org.orgId, project_id: org.projectId, trace_id: row.trace_id }
  const batchId = randomUUIDv7()
  await sql`
    insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id, new_manifest_id,
      rules, engine_version)
    values (${org.orgId}, ${org.projectId}, ${batchId}, ${randomUUIDv7()}, ${manifest_id},
      ${manifest_id}, '[]', '1')`
  const target = { ...org, batchId, targetManifestId: manifest_id as string }
  const repaired: RepairedTrace = {
    trace_id: row.trace_id,
    trace_revision: 0,
    rules: [],
    content: Buffer.of(1),
    content_hash: Buffer.of(2),
    tools_called: [],
  }
  /** Fails where it would have to wait for another transaction. */
  const revise = () =>
    context.queue.transaction(sql, async (tx: Transaction) => {
      await tx`set local lock_timeout = '1ms'`
      return reviseTrace(tx, context.queue, key, (stored) => ({ ...stored, tags: ['revised'] }))
    })
  const store = (tx: Transaction) => upsertRevisions(tx, target, [repaired])

  await sql.begin(async (tx: Transaction) => {
    t.same(await store(tx), new Set([row.trace_id]))
    await t.rejects(revise(), { code: '55P03' })
  })
  t.match(await revise(), { trace_id: row.trace_id })
  t.same(await sql.begin(store), new Set(), 'it says something else now')
})
