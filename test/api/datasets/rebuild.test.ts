import t from 'tap'
import { buildDataset, openDatasetService, pathOf } from '../../support/built-dataset.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'

const named = (...ids: string[]) =>
  ids.map((trace_id) => ({ trace_id, task_id: trace_id, messages: hello(trace_id), tags: ['x'] }))

t.test('building a version again', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const recipe = {
    filters: { tags: ['x'], min_eval_score: 0.5 },
    split: { train: 0.5, test: 0.5 },
    seed: 9,
    options: { format: 'trl' },
  }

  t.test('201: a new version of the same recipe over the traces of today', async (t) => {
    const org = await openOrganization(named('a', 'b', 'c', 'd'))
    const { api } = org
    const version = await buildDataset(api, 'sft', recipe)
    const again = await api.post(`${pathOf(version)}/rebuild`, {}, { prefer: 'wait=50' })
    t.match(again, { status: 201, headers: { 'preference-applied': 'wait=50' } })
    const { filters, split, seed, options, filter_hash } = version as unknown as typeof again.body
    t.match(again.body, { version_number: 2, status: 'ready', parent_version_id: version.id })
    t.match(again.body, { filters, split, seed, options, filter_hash })
    t.equal(again.body.content_hash, version.content_hash)
    await storeJudged(service.sql, org, named('e'))
    const latest = pathOf({ ...version, id: 'latest' })
    const more = await api.post(`${latest}/rebuild`, {}, { prefer: 'wait=50' })
    t.match(more.body, { version_number: 3, row_count: 5, filters, split, seed, options })
    t.equal((await api.get(pathOf(version))).body.row_count, 4, 'the first stays as it is')
  })

  t.test('202: when the client does not wait', async (t) => {
    const { api } = await openOrganization(named('a'))
    const version = await buildDataset(api, 'sft')
    const answer = await api.post(`${pathOf(version)}/rebuild`, {}, { prefer: 'respond-async' })
    t.match(answer, { status: 202, headers: { location: /\/jobs\// }, body: { version_number: 2 } })
  })

  t.test('402: when the rows do not fit the quota any more', async (t) => {
    const { api, orgId } = await openOrganization(named('a'))
    const version = await buildDataset(api, 'sft')
    await service.sql`
      update usage set current = 1000000000 where org_id = ${orgId} and metric = 'sft_rows'`
    const answer = await api.post(`${pathOf(version)}/rebuild`, {}, { prefer: 'wait=50' })
    t.equal(answer.status, 402)
  })

  t.test('404: what is no version', async (t) => {
    const { api } = await openOrganization(named('a'))
    const version = await buildDataset(api, 'sft')
    const { status } = await api.post(`/datasets/${version.dataset_id}/versions/v2/rebuild`)
    t.equal(status, 404)
  })
})
