import t from 'tap'
import { openInstallation } from '../support/backup/backups.ts'
import { buildDataset, readJsonl } from '../support/built-dataset.ts'
import { storeJudged } from '../support/stored-traces.ts'

t.test('a restored dataset version has no files until it is built again', async (t) => {
  const { service, take, restore } = await openInstallation(t)
  const owner = await service.makeOrganization()
  await storeJudged(service.sql, owner, [{ trace_id: 'a' }, { trace_id: 'b' }])
  const api = service.client(owner.key)
  const built = await buildDataset(api, 'sft', { seed: 7 })
  const rows = await readJsonl(api, built)

  const other = await service.makeOrganization()
  t.match(await restore(other, await take(owner)), { status: 'succeeded', error_count: 0 })
  const there = service.client(other.key)
  const versions = `/datasets/${built.dataset_id}/versions`
  t.match((await there.get(`${versions}/1`)).body, {
    id: built.id,
    restored: true,
    status: 'ready',
    content_hash: built.content_hash,
    row_count: built.row_count,
    files: [],
  })
  for (const asked of ['export', 'export?format=parquet', 'rows']) {
    const { status, body } = await there.get(`${versions}/1/${asked}`)
    t.match({ status, body }, { status: 409, body: { code: 'not_built' } }, asked)
  }

  const again = await there.post(`${versions}/1/rebuild`, {}, { prefer: 'wait=50' })
  t.match(again, {
    status: 201,
    body: { version_number: 2, restored: false, status: 'ready', seed: 7 },
  })
  const ofTraces = (read: typeof rows) => read.map((row) => row.provenance.trace_id).toSorted()
  t.same(ofTraces(await readJsonl(there, again.body)), ofTraces(rows))
  t.match((await there.get(`${versions}/1`)).body, { restored: true }, 'the first stays as it is')
})
