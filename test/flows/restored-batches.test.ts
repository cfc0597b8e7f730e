import t from 'tap'
import { fillOrganization } from '../support/backup/full-organization.ts'
import { kindOf, linesOf, openInstallation, withEnd } from '../support/backup/backups.ts'
import { setJobState } from '../support/job-state.ts'

const { service, take, restore } = await openInstallation(t)
const owner = await service.makeOrganization()
await fillOrganization(service, owner, { traces: 3 })
const whole = await take(owner)

t.test('canceling a restored replay batch leaves the restore alone', async (t) => {
  const { get, post } = await restored(whole)
  const batches = (await get('/replay/batches')).body.batches as {
    id: string
    status: string
    job_id: string
  }[]
  const open = batches.find(({ status }) => status === 'running')
  if (!open) throw new Error('No batch is open')
  await setJobState(service.sql, open.job_id, 'running')
  t.match(await post(`/replay/batches/${open.id}/cancel`), {
    status: 200,
    body: { status: 'canceled' },
  })
  t.match((await get(`/jobs/${open.job_id}`)).body, { state: 'running' })
})

t.test(
  'a repair batch that was restored before it was complete is not what the restore is',
  async (t) => {
    const lines = linesOf(whole).slice(0, -1)
    const batch = lines.findIndex((line) => kindOf(line) === 'repair_batch')
    const cut = { ...JSON.parse(lines[batch] ?? ''), completed_at: null }
    const { get } = await restored(withEnd(lines.with(batch, JSON.stringify(cut))))
    t.match((await get(`/repair/${cut.id}`)).body, { status: 'failed', completed_at: null })
  },
)

t.test('a replay batch that was not prepared is no line of a backup', async (t) => {
  const org = await service.makeOrganization()
  const lines = linesOf(whole).slice(0, -1)
  const batch = lines.findIndex((line) => kindOf(line) === 'replay_batch')
  const cut = { ...JSON.parse(lines[batch] ?? ''), prepared_at: null }
  const { id } = await restore(org, withEnd(lines.with(batch, JSON.stringify(cut))))
  const { errors } = (await service.client(org.key).get(`/import/${id}/errors`)).body
  t.match(errors[0], { line: batch + 1, code: 'invalid_line', message: /prepared_at/ })
})

/** A client of an organization to which a file was restored. */
async function restored(file: string) {
  const org = await service.makeOrganization()
  t.match(await restore(org, file), { status: 'succeeded', error_count: 0 })
  return service.client(org.key)
}
