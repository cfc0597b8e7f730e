import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { dropPeriod } from '../../../sql/transactions/drop-period.ts'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
} from '../../support/built-dataset.ts'
import type { Version } from '../../support/built-dataset.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import type { Service } from '../../support/service.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'

type Client = ReturnType<Service['client']>

const named = (...ids: string[]) =>
  ids.map((trace_id) => ({ trace_id, task_id: trace_id, messages: hello(trace_id) }))
const FRESH = { is_stale: false, reasons: [] }
const deleted = (count: number, ...subjects: string[]) => ({
  is_stale: true,
  reasons: [{ code: 'trace_deleted', count, subjects }],
})
const twoDigits = (n: number) => String(n).padStart(2, '0')
const staleOf = async (api: Client, version: Version) =>
  (await api.get(pathOf(version))).body.stale as unknown

t.test('a version is stale when traces of its rows are gone', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const { sql } = service

  t.test('which were deleted one by one', async (t) => {
    const { api } = await openOrganization(named('a', 'b', 'c'))
    const version = await buildDataset(api, 'sft')
    t.same(version.stale, FRESH)
    await api.delete('/traces/b')
    t.same(await staleOf(api, version), deleted(1, 'b'))
    await api.delete('/traces/a')
    t.same(await staleOf(api, version), deleted(2, 'a', 'b'))
    const later = await buildVersion(api, version.dataset_id)
    t.same(later.stale, FRESH)
    const { body } = await api.get(`/datasets/${version.dataset_id}/versions`)
    t.same(
      body.versions.map(({ stale }: Version) => stale),
      [FRESH, deleted(2, 'a', 'b')],
    )
    t.same((await api.get(`/datasets/${version.dataset_id}`)).body.versions[1].stale.is_stale, true)
  })

  t.test('but not when others are that had an id before or after', async (t) => {
    const org = await openOrganization(named('a', 'b'))
    const { api } = org
    const first = await buildDataset(api, 'sft')
    await api.delete('/traces/a')
    await storeJudged(sql, org, named('a'))
    const second = await buildVersion(api, first.dataset_id)
    await api.delete('/traces/a')
    t.same(await staleOf(api, first), deleted(1, 'a'))
    t.same(await staleOf(api, second), deleted(1, 'a'))
    await storeJudged(sql, org, named('a'))
    await api.delete('/traces/a')
    t.same(await staleOf(api, second), deleted(1, 'a'))
    const neighbour = await openOrganization(named('a'))
    await buildDataset(neighbour.api, 'sft')
    await neighbour.api.delete('/traces/a')
    t.same(await staleOf(api, first), deleted(1, 'a'))
  })

  t.test('and so is one of pairs by the rejected traces', async (t) => {
    const said = (content: string) => [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content },
    ]
    const { api } = await openOrganization([
      { trace_id: 'good', task_id: 'task', quality: 1, messages: said('It is so') },
      { trace_id: 'bad', task_id: 'task', quality: 0, messages: said('Who knows') },
    ])
    const version = await buildDataset(api, 'dpo')
    t.equal(version.row_count, 1)
    await api.delete('/traces/bad')
    t.same(await staleOf(api, version), deleted(1, 'bad'))
    await api.delete('/traces/good')
    t.same(await staleOf(api, version), deleted(2, 'bad', 'good'))
  })

  t.test('which went with their month', async (t) => {
    const org = await openOrganization(named('new'))
    const { api } = org
    const [month = ''] = await makePeriodsAt(sql, '2025-03-15')
    await storingIn(sql, month, () => storeJudged(sql, org, named('a', 'b', 'c')))
    const version = await buildDataset(api, 'sft')
    t.equal(version.row_count, 4)
    await api.delete('/traces/b')
    t.same(await staleOf(api, version), deleted(1, 'b'))
    await sql.begin((tx: Transaction) => dropPeriod(tx, month))
    t.same(await staleOf(api, version), deleted(3))
    await api.delete('/traces/new')
    t.same(await staleOf(api, version), deleted(4, 'new'))
    await sql`delete from trace_periods where period = ${month}`
    t.same(await staleOf(api, version), deleted(4, 'new'))
  })

  t.test('also of a version of the release before, once the month is gone', async (t) => {
    const org = await openOrganization(named('new'))
    const { api } = org
    const [month = ''] = await makePeriodsAt(sql, '2025-05-15')
    await storingIn(sql, month, () => storeJudged(sql, org, named('a', 'b')))
    const version = await buildDataset(api, 'sft')
    await sql`
      update dataset_versions set trace_months = null, recipe = recipe #- '{options,redact}'
      where id = ${version.id}`
    await api.delete('/traces/b')
    await sql.begin((tx: Transaction) => dropPeriod(tx, month))
    t.same(await staleOf(api, version), deleted(1, 'b'))
    const { body } = await api.get(`/datasets/${version.dataset_id}/versions`)
    t.match(body.versions, [{ stale: deleted(1, 'b'), options: { redact: [] } }])
  })

  t.test('of which so many are noted and counted for each version', async (t) => {
    const { api, orgId } = await openOrganization(named('a', 'b', 'c', 'd'))
    const first = await buildDataset(api, 'sft')
    const versions = [first, await buildVersion(api, first.dataset_id)]
    for (const { id } of versions) {
      await sql`
        insert into dataset_deleted_traces (org_id, version_id, trace_id, period, while_built)
        select ${orgId}, ${id}, 'x' || lpad(n::text, 4, '0'), max(period), false
        from generate_series(1, 998) n, trace_periods where dropped_at is null group by n`
    }
    for (const id of ['c', 'a', 'b', 'd']) await api.delete(`/traces/${id}`)
    const { body } = await api.get(`/datasets/${first.dataset_id}/versions`)
    const subjects = ['a', 'c', ...Array.from({ length: 18 }, (_, n) => `x00${twoDigits(n + 1)}`)]
    t.same(
      body.versions.map(({ stale }: Version) => stale),
      [deleted(1000, ...subjects), deleted(1000, ...subjects)],
    )
    const [noted] = await sql<{ n: number }[]>`
      select count(*)::int as n from dataset_deleted_traces where org_id = ${orgId}`
    t.equal(noted?.n, 2000)
  })

  t.test('and nothing is said of one that is not ready', async (t) => {
    const { api } = await openOrganization(named('a'))
    const version = await buildDataset(api, 'sft')
    await sql`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where id = ${version.id}`
    t.equal(await staleOf(api, version), null)
  })
})

t.test('a version is stale when a manifest of its traces is superseded', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const tool = (name: string) => [{ component_type: 'tool', component_name: name }]

  async function open() {
    const org = await openOrganization([])
    const { api } = org
    const register = async (name: string, activate?: boolean) => {
      const manifest = { agent_name: 'agent', components: tool(name), activate }
      return (await api.post('/manifests', manifest)).body.manifest_id as string
    }
    const first = await register('search')
    const traces = named('a', 'b').map((trace) => ({ ...trace, manifest_id: first }))
    await storeJudged(service.sql, org, traces)
    const version = await buildDataset(api, 'sft')
    t.same(version.manifest_ids, [first])
    const events = async () =>
      (await api.get('/changelog?types=training')).body.events.filter(
        ({ event_type }: { event_type: string }) => event_type === 'training.dataset_stale',
      )
    return { ...org, register, first, version, events }
  }

  t.test('until that one is active again', async (t) => {
    const { api, register, first, version } = await open()
    t.same(await staleOf(api, version), FRESH)
    await register('find', false)
    t.same(await staleOf(api, version), FRESH, 'a draft supersedes nothing')
    const second = await register('look', true)
    const superseded = { code: 'manifest_superseded', count: 1, subjects: [first] }
    t.same(await staleOf(api, version), { is_stale: true, reasons: [superseded] })
    await api.delete('/traces/a')
    t.match(await staleOf(api, version), {
      reasons: [superseded, { code: 'trace_deleted', count: 1, subjects: ['a'] }],
    })
    await api.post(`/manifests/${first}/activate`)
    t.same(await staleOf(api, version), deleted(1, 'a'))
    t.not(first, second)
  })

  t.test('and the changelog says so of each dataset whose current version it is', async (t) => {
    const { api, register, first, version, events } = await open()
    const emptied = await buildVersion(api, version.dataset_id, { filters: { tags: ['none'] } })
    t.equal(emptied.row_count, 0)
    const other = await buildDataset(api, 'kto')
    t.same(await events(), [])
    const second = await register('look', true)
    const told = await events()
    t.equal(told.length, 1, 'what the dataset had before is not current')
    t.match(told[0], {
      type: 'training',
      agent_name: 'agent',
      actor: { type: 'api_key' },
      resource: { type: 'dataset_version', id: other.id },
      data: {
        dataset_id: other.dataset_id,
        manifest_id: second,
        previous_manifest_id: first,
        version_label: 'v1',
      },
      title: / v1 is stale$/,
      summary: /has traces of agent v1, which is superseded by v2\.$/,
    })
    await register('find', false)
    t.equal((await events()).length, 1)
  })

  t.test('and no more than a hundred at once', async (t) => {
    const { orgId, projectId, register, first, version, events } = await open()
    await service.sql`
      with made as (
        insert into datasets (org_id, project_id, id, name, dataset_type)
        select ${orgId}, ${projectId}, gen_random_uuid(), 'more ' || n, 'sft'
        from generate_series(1, 120) n returning id)
      insert into dataset_versions (org_id, dataset_id, id, version_number, job_id, ready_at, recipe,
        filter_hash, content_hash, row_count, manifest_ids)
      select ${orgId}, id, gen_random_uuid(), 1, ${version.job_id}, now(), '{}', '', '', 0,
        ${[first]}::uuid[]
      from made`
    await register('look', true)
    t.equal((await events()).length, 50, 'a page of the changelog')
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from dataset_staleness_events where org_id = ${orgId}`
    t.equal(row?.n, 100)
  })
})
