import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import {
  deleteOrganizationHandler,
  makeOrganizationHandler,
} from '../../../workers/maintenance/delete-organization.ts'
import { toolComponent } from '../../support/agents.ts'
import { buildDataset } from '../../support/built-dataset.ts'
import { runCommand } from '../../support/command.ts'
import { countOwned, fillOwned, listOwned } from '../../support/owned-rows.ts'
import { makeSamples } from '../../support/resources.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'
import { startWorkerProcess } from '../../support/worker-process.ts'

t.test('an organization is deleted with everything of it, and nothing of another', async (t) => {
  const { service, open, remove, isGone } = await openScene(t)
  const { sql } = service
  const building = await service.startWorkers([buildDatasetHandler])
  const [org, other] = [await open(), await open()]
  await building.stop()
  const tables = await listOwned(sql)
  for (const { orgId } of [org, other]) await fillOwned(sql, tables, orgId)
  await sql`
    insert into registry_installs (skill_id, org_id, fork_skill_id)
    select skill_id, ${org.orgId}, gen_random_uuid() from registry_skills where org_id = ${other.orgId}`
  await sql`update registry_skills set install_count = 2`
  // Workers add up changes of counts now and then, which makes other rows of them.
  const steady = tables.filter((name) => !/_counts$|_count_changes$/.test(name))
  const [before, kept] = [
    await countOwned(sql, tables, org.orgId),
    await countOwned(sql, steady, other.orgId),
  ]
  t.same(
    Object.entries(before).filter(([, n]) => n === 0),
    [],
    'every table has rows of it',
  )
  const [nested] = await sql`
    select from manifests where org_id = ${org.orgId} and parent_manifest_id is not null`
  t.ok(nested, 'also such as refer to others of theirs')
  const queued = await queueRows(other.orgId)
  t.ok(queued > 0)
  const opened = await service.client(org.key).post('/auth/session', { api_key: org.key })
  t.match(opened, { status: 201 })
  const [cookie = ''] = String(opened.headers['set-cookie']).split(';')
  const bySession = async () =>
    (await service.server.inject({ url: '/api/v1/jobs', headers: { cookie } })).statusCode
  t.equal(await bySession(), 200)

  await remove(org)
  t.match(await service.client(org.key).get('/jobs'), {
    status: 401,
    body: { detail: 'API key has been revoked' },
  })
  t.equal(await bySession(), 401)
  await t.rejects(runCommand(service, 'key create', { org: org.orgId }), /being deleted/)
  await service.startWorkers([makeOrganizationHandler({ sliceMs: 0, rowsTogether: 1 })])
  await until(() => isGone(org))
  t.same(
    Object.entries(await countOwned(sql, tables, org.orgId)).filter(([, n]) => n > 0),
    [['registry_slugs', 1]],
    'no table has a row of it, but that public names of its skills stay taken',
  )
  t.same(await countOwned(sql, steady, other.orgId), kept, 'the other one has all of its rows')
  t.same([await queueRows(org.orgId), await queueRows(other.orgId)], [0, queued])
  const [skill] = await sql`select install_count from registry_skills where org_id = ${other.orgId}`
  t.equal(skill?.['install_count'], 1, 'what it had installed is installed once less')
  const { storage } = service.context
  for (const key of org.files) await t.rejects(storage.measure(key), /no stored file/)
  for (const key of other.files) t.type(await storage.measure(key), 'number')

  async function queueRows(orgId: string) {
    const rows = await sql`select from pgboss.job where data ->> 'org_id' = ${orgId}`
    return rows.length
  }
})

t.test('nothing is deleted that nobody wants deleted', async (t) => {
  const { service, open, isGone } = await openScene(t)
  const building = await service.startWorkers([buildDatasetHandler])
  const org = await open()
  await building.stop()
  const ask = (options: object) => runCommand(service, 'org delete', { org: org.orgId, ...options })
  await t.rejects(ask({ confirm: 'another name' }), /is not "another name": nothing was deleted/)
  const run = { ...service.context, signal: new AbortController().signal }
  await deleteOrganizationHandler.work({ org_id: org.orgId }, run as never)
  t.notOk(await isGone(org))
  t.match(await service.client(org.key).get('/traces'), { status: 200, body: { total: 11 } })
})

t.test('a deletion whose process is killed goes on, and ends jobs that run', async (t) => {
  const { service, remove, isGone } = await openScene(t)
  const { sql } = service
  const org = { ...(await service.makeOrganization()), files: [] }
  for (let batch = 0; batch < 20; batch++) {
    const traces = Array.from({ length: 500 }, (_, i) => ({ trace_id: `t${batch}-${i}` }))
    await storeJudged(sql, org, traces)
  }
  const { body } = await service
    .client(org.key)
    .call('DELETE', '/traces?agent_name=agent', undefined, { prefer: 'respond-async' })
  const count = async () => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from trace_ids where org_id = ${org.orgId}`
    return row?.n ?? 0
  }
  const first = await startWorkerProcess(service, 'maintenance', {})
  await until(async () => (await count()) < 10_000)
  const [job] = await sql<{ state: string }[]>`select state from jobs where id = ${body.job_id}`
  if ((await count()) > 0) t.equal(job?.state, 'running')
  await remove(org)
  await until(async () => {
    const [job] = await sql`select from jobs where org_id = ${org.orgId}`
    const [part] = await sql`select from eval_scores where org_id = ${org.orgId} limit 1`
    return !job || !part
  })
  first.kill('SIGKILL')
  await once(first, 'exit')
  const second = await startWorkerProcess(service, 'maintenance', {})
  await until(() => isGone(org))
  const tables = await listOwned(sql)
  t.same(
    Object.entries(await countOwned(sql, tables, org.orgId)).filter(([, n]) => n > 0),
    [],
  )
  second.kill('SIGKILL')
  await once(second, 'exit')
})

async function openScene(t: Test) {
  const service = await openService(t)
  const { sql } = service
  return {
    service,
    /** An organization with samples of what paths name, ten traces, and a version with files. */
    async open() {
      const org = await service.makeOrganization()
      await makeSamples(service, org)
      const traces = Array.from({ length: 10 }, (_, i) => ({
        trace_id: `t${i}`,
        messages: [
          { role: 'user', content: `${i}` },
          { role: 'assistant', content: 'Hello' },
        ],
      }))
      await storeJudged(sql, org, traces)
      for (const version of ['1', '2', '3']) {
        const manifest = { agent_name: 'grown', components: [toolComponent(version)] }
        await service.client(org.key).post('/manifests', { ...manifest, activate: true })
      }
      await buildDataset(service.client(org.key), 'sft')
      const files = await sql<{ key: string }[]>`
        select storage_key as key from dataset_files where org_id = ${org.orgId}`
      t.ok(files.length > 0)
      return { ...org, files: files.map(({ key }) => key) }
    },
    remove: (org: { orgId: string }) =>
      runCommand(service, 'org delete', { org: org.orgId, confirm: `org ${org.orgId}` }),
    async isGone({ orgId }: { orgId: string }) {
      const [left] = await sql`
        select from organizations where id = ${orgId}
        union all select from pgboss.job
        where name = 'org.delete' and data -> 'payload' ->> 'org_id' = ${orgId}
          and state < 'completed'`
      return left === undefined
    },
  }
}
