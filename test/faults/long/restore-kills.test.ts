import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { openInstallation } from '../../support/backup/backups.ts'
import type { Installation, Owner } from '../../support/backup/backups.ts'
import { firstDifference } from '../../support/backup/first-difference.ts'
import { fillOrganization } from '../../support/backup/full-organization.ts'
import { settled } from '../../support/settled.ts'
import { until } from '../../support/until.ts'

const TRACES = 2000
const KILLS = 20
const CHUNK_BYTES = 20_000

t.test(
  'a restore whose workers are killed again and again loses and doubles nothing',
  async (t) => {
    const source = await openInstallation(t)
    const owner = await source.service.makeOrganization()
    await fillOrganization(source.service, owner, { traces: TRACES })
    const whole = await source.take(owner)

    const target = await openInstallation(t, { without: ['import.restore'] })
    const org = await target.service.makeOrganization()
    const importId = await target.submit(org, whole)
    const show = async () => (await target.service.client(org.key).get(`/import/${importId}`)).body
    let seen = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startProcess(target)
      await until(async () => (await show()).progress.lines > seen)
      child.kill('SIGKILL')
      await once(child, 'exit')
      const shown = await show()
      t.notOk(shown.finished_at, `killed at line ${shown.progress.lines}`)
      seen = shown.progress.lines
      await rescue(target, org)
    }
    const last = startProcess(target)
    t.teardown(() => last.kill('SIGKILL'))
    const ended = await until(async () => {
      const shown = await show()
      return shown.finished_at && shown
    })
    t.match(ended, { status: 'succeeded', error_count: 0, error: null })
    await settled(target.service.sql, org.orgId)
    t.equal(firstDifference(await target.take(org), whole), undefined)
  },
)

function startProcess({ service }: Installation) {
  const program = new URL('../../workers/import/backup/restore-process.ts', import.meta.url)
    .pathname
  const args = [program, service.url, service.config.DATA_DIR, String(CHUNK_BYTES)]
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** What supervision does once it has missed the heartbeats of a claim, without the wait. */
async function rescue({ service }: Installation, { orgId }: Owner) {
  await service.sql`
    update pgboss.job set state = 'retry', retry_count = retry_count + 1, start_after = now()
    where name = 'import.restore' and state = 'active' and data->>'org_id' = ${orgId}`
}
