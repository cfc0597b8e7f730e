import t from 'tap'
import { openInstallation } from '../support/backup/backups.ts'
import { buildDataset, readJsonl } from '../support/built-dataset.ts'
import { setJobState } from '../support/job-state.ts'
import { storeJudged } from '../support/stored-traces.ts'

const { service, take, restore } = await openInstallation(t)

t.test('a restored dataset version has no files until it is built again', async (t) => {
  const { built, rows, there, versions } = await restoreVersion()
  t.match((await there.get(`${versions}/1`)).body, {
    id: built.id,
    restored: true,
    status: 'ready',
    content_hash: built.content_hash,
    row_count: built.row_count,
    files: [],
  })
  const again = await there.post(`${versions}/1/rebuild`, {}, { prefer: 'wait=50' })
  t.match(again, {
    status: 201,
    body: { version_number: 2, restored: false, status: 'ready', seed: 7 },
  })
  const reads = ['export', 'export?format=parquet', 'rows', 'card'].map(
    (path) => `${versions}/1/${path}`,
  )
  for (const asked of [...reads, `/datasets/${built.dataset_id}/diff?to=2&from=1`]) {
    const { status, body } = await there.get(asked)
    t.match({ status, body }, { status: 409, body: { code: 'not_built' } }, asked)
  }
  const ofTraces = (read: typeof rows) => read.map((row) => row.provenance.trace_id).toSorted()
  t.same(ofTraces(await readJsonl(there, again.body)), ofTraces(rows))
  t.match((await there.get(`${versions}/1`)).body, { restored: true }, 'the first stays as it is')
})

t.test('what becomes of the restore does not show in its versions', async (t) => {
  const { there, versions } = await restoreVersion()
  const { job_id } = (await there.get(`${versions}/1`)).body
  await setJobState(service.sql, job_id, 'running')
  t.equal((await there.post(`${versions}/1/cancel`)).status, 409)
  t.match((await there.get(`/jobs/${job_id}`)).body, { state: 'running' }, 'the restore goes on')
  await setJobState(service.sql, job_id, 'failed')
  t.match((await there.get(`${versions}/1`)).body, { status: 'ready', error: null })
})

t.test(
  'a restored version misses no traces of months that only its organization had',
  async (t) => {
    const { there, versions, orgId } = await restoreVersion()
    await service.sql`
    update dataset_versions set trace_months = '{"2020-01-01": 2}' where org_id = ${orgId}`
    t.match((await there.get(`${versions}/1`)).body, { stale: { is_stale: false } })
  },
)

/** A version of an organization, its rows, and a client of another one to which it was restored. */
async function restoreVersion() {
  const owner = await service.makeOrganization()
  await storeJudged(service.sql, owner, [{ trace_id: 'a' }, { trace_id: 'b' }])
  const api = service.client(owner.key)
  const built = await buildDataset(api, 'sft', { seed: 7 })
  const rows = await readJsonl(api, built)
  const other = await service.makeOrganization()
  const ended = await restore(other, await take(owner))
  if (ended.status !== 'succeeded' || ended.error_count > 0) throw new Error(JSON.stringify(ended))
  const versions = `/datasets/${built.dataset_id}/versions`
  return { built, rows, there: service.client(other.key), versions, orgId: other.orgId }
}
