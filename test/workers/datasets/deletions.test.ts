import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { removeTraces } from '../../../sql/transactions/remove-traces.ts'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
} from '../../support/built-dataset.ts'
import type { Version } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

const FRESH = { is_stale: false, reasons: [] }
const DELETED = {
  is_stale: true,
  reasons: [{ code: 'trace_deleted', count: 1, subjects: ['a'] }],
}
const TRACES = ['a', 'b', 'other'].map((trace_id) => ({
  trace_id,
  task_id: trace_id,
  agent_name: trace_id === 'other' ? 'other' : 'agent',
  messages: hello(trace_id),
}))
const OF_AGENT = { filters: { agent_name: 'agent' } }

t.test('a trace that is deleted while a version is built', async (t) => {
  const during = new Map<string, () => Promise<unknown>>()
  const { job, work } = buildDatasetHandler
  const held = handler(job, (payload, run) =>
    work(payload, {
      ...run,
      async checkpoint(tx, progress) {
        const once = during.get(progress.note ?? '')
        during.delete(progress.note ?? '')
        await once?.()
        return run.checkpoint(tx, progress)
      },
    }),
  )
  const { service, openOrganization } = await openDatasetService(t, held)
  const { sql, context } = service
  type Organization = Awaited<ReturnType<typeof openOrganization>>

  /** Deletes traces in a transaction that `commit` ends. */
  async function beginDeletion({ orgId, projectId }: Organization, ...ids: string[]) {
    const [deleted, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ended = context.queue.transaction(sql, async (tx: Transaction) => {
      await removeTraces(tx, context.queue, { orgId, projectId }, ids)
      deleted.resolve()
      await committed.promise
    })
    await Promise.race([deleted.promise, ended])
    return {
      async commit() {
        committed.resolve()
        await ended
      },
    }
  }

  const staleOf = async ({ api }: Organization, version: Version) =>
    (await api.get(pathOf(version))).body.stale as unknown
  const countNotes = async ({ orgId }: Organization) => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from dataset_deleted_traces where org_id = ${orgId}`
    return row?.n
  }

  t.test('makes it stale when it has a row of the trace', async (t) => {
    const org = await openOrganization(TRACES)
    during.set('storing rows', async () => {
      t.equal((await org.api.delete('/traces/a')).status, 204)
      t.equal((await org.api.delete('/traces/other')).status, 204)
    })
    const version = await buildDataset(org.api, 'sft', OF_AGENT)
    t.equal(version.row_count, 2)
    t.same(version.stale, DELETED)
    t.equal(await countNotes(org), 1, 'of other traces nothing is left')
  })

  t.test('does so too when that is committed after the version is ready', async (t) => {
    const org = await openOrganization(TRACES)
    let deletion: Awaited<ReturnType<typeof beginDeletion>> | undefined
    during.set('storing rows', async () => {
      deletion = await beginDeletion(org, 'a', 'other')
    })
    const version = await buildDataset(org.api, 'sft', OF_AGENT)
    t.same(version.stale, FRESH)
    await deletion?.commit()
    t.same(await staleOf(org, version), DELETED)
  })

  t.test('is not in a version that it has not seen', async (t) => {
    const org = await openOrganization(TRACES)
    const { body: dataset } = await org.api.post('/datasets', { name: 'd', dataset_type: 'sft' })
    const { commit } = await beginDeletion(org, 'a')
    const building = buildVersion(org.api, dataset.id, OF_AGENT)
    building.catch(() => undefined)
    await until(() => countLockWaits(sql, { type: 'advisory' }))
    await commit()
    const version = await building
    t.equal(version.row_count, 1)
    t.same(version.stale, FRESH)
  })
})
