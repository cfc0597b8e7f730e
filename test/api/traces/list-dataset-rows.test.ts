import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  readJsonl,
} from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'

t.test('the dataset rows of a trace', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const said = (content: string) => [
    { role: 'user', content: 'Why?' },
    { role: 'assistant', content },
  ]
  const traces = [
    { trace_id: 'good', task_id: 'task', quality: 1, messages: said('Because it is so') },
    { trace_id: 'bad', task_id: 'task', quality: 0, messages: said('Who knows?') },
    { trace_id: 'other', task_id: 'another', quality: 1, messages: hello('other') },
  ]

  t.test('are those of all versions, the newest first', async (t) => {
    const { api } = await openOrganization(traces)
    t.match((await api.get('/traces/good/dataset-rows')).body, {
      rows: [],
      total: 0,
      next_cursor: null,
    })
    const sft = await buildDataset(api, 'sft')
    const dpo = await buildDataset(api, 'dpo')
    const again = await buildVersion(api, sft.dataset_id)
    const { status, body } = await api.get('/traces/good/dataset-rows')
    t.equal(status, 200)
    const row = (await readJsonl(api, again)).find(
      ({ provenance }) => provenance.trace_id === 'good',
    )
    const name = (await api.get(`/datasets/${sft.dataset_id}`)).body.name as string
    t.match(body, {
      rows: [
        {
          dataset_id: sft.dataset_id,
          dataset_name: name,
          version_id: again.id,
          version_number: 2,
          version_label: 'v2',
          ordinal: Number,
          row_id: row?.provenance.row_id,
          split: /^(train|validation|test)$/,
          side: null,
        },
        { dataset_id: dpo.dataset_id, version_id: dpo.id, version_label: 'v1', side: 'chosen' },
        { version_id: sft.id, version_label: 'v1', side: null },
      ],
      total: 3,
      next_cursor: null,
    })
    const { ordinal } = body.rows[0]
    const listed = await api.get(`/datasets/${sft.dataset_id}/versions/2/rows`)
    t.equal(listed.body.rows[ordinal].provenance.trace_id, 'good', 'the ordinal is that of the row')
    t.match((await api.get('/traces/bad/dataset-rows')).body, {
      rows: [{ version_id: dpo.id, side: 'rejected' }],
      total: 1,
    })
  })

  t.test('are read by page', async (t) => {
    const { api } = await openOrganization(traces)
    const first = await buildDataset(api, 'sft')
    const versions = [first.id]
    for (let n = 0; n < 4; n++) versions.unshift((await buildVersion(api, first.dataset_id)).id)
    const read: string[] = []
    let cursor = ''
    do {
      const { body } = await api.get(
        `/traces/good/dataset-rows?limit=2${cursor && `&cursor=${cursor}`}`,
      )
      t.equal(body.total, 5)
      read.push(...body.rows.map((row: { version_id: string }) => row.version_id))
      cursor = body.next_cursor ?? ''
    } while (cursor)
    t.same(read, versions)
    t.equal((await api.get('/traces/good/dataset-rows?cursor=nonsense')).status, 400)
  })

  t.test('of one version come in its order', async (t) => {
    const { api, orgId } = await openOrganization(traces)
    const { id, row_count } = await buildDataset(api, 'sft')
    await service.sql`
      insert into dataset_version_rows
      select org_id, version_id, ordinal + n * ${row_count}::int, 'good', row_hash, score_fingerprint,
        split, shard, byte_offset, byte_length
      from dataset_version_rows, generate_series(1, 3) as n
      where org_id = ${orgId} and version_id = ${id}`
    const page = async (cursor = '') =>
      (await api.get(`/traces/good/dataset-rows?limit=3${cursor && `&cursor=${cursor}`}`)).body
    const one = await page()
    const two = await page(one.next_cursor)
    const ordinals = [...one.rows, ...two.rows].map((row: { ordinal: number }) => row.ordinal)
    t.equal(ordinals.length, 6)
    t.same(
      ordinals,
      ordinals.toSorted((a, b) => a - b),
    )
    t.equal(new Set(ordinals).size, 6)
  })

  t.test('are not those of another trace that had its id, nor of another project', async (t) => {
    const { api } = await openOrganization(traces)
    await buildDataset(api, 'sft')
    t.equal((await api.get('/traces/good/dataset-rows')).body.total, 1)
    await api.post('/traces', { id: 'good', agent_name: 'a', project: 'elsewhere' })
    const elsewhere = await api.get('/traces/good/dataset-rows?project=elsewhere')
    t.match(elsewhere, { status: 200, body: { rows: [], total: 0 } })
    await api.delete('/traces/good?project=default')
    await api.post('/traces', { id: 'good', agent_name: 'a', project: 'default' })
    t.match((await api.get('/traces/good/dataset-rows?project=default')).body, { total: 0 })
    t.equal((await api.get('/traces/none/dataset-rows')).status, 404)
  })
})
