import { pathToFileURL } from 'node:url'
import t from 'tap'
import { documentedPath } from '../../api/endpoint.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import { isReplicated } from '../../api/read-replica.ts'
import { operations } from '../../api/routes.ts'
import { migrateAll } from '../../ops/migrate.ts'
import { openPrimary, openStandbyOf } from '../faults/standby.ts'
import type { Replica } from '../../api/context.ts'
import { loadHandlers } from '../support/handlers.ts'
import { openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('what may be read from a replica', async (t) => {
  const replicated = operations.filter(isReplicated)
  const pathsOf = (some: readonly Endpoint[]) => some.map(({ path }) => path)

  t.test('is lists and what goes over many rows, for every key', async (t) => {
    t.ok(replicated.length > 40, `${replicated.length} operations`)
    const paths = new Set(pathsOf(replicated))
    for (const path of [
      '/traces',
      '/traces/stats',
      '/datasets/{dataset_id}/diff',
      '/replay/export',
    ]) {
      t.ok(paths.has(path), path)
    }
    const others = [
      '/api-keys',
      '/export/backup',
      '/traces/{trace_id}',
      '/jobs/{job_id}',
      '/registry/skills',
    ]
    for (const path of others) t.notOk(paths.has(path), path)
    t.notOk(paths.has('/agents/{agent_name}/compat-summary'), 'nothing that makes a job')
  })

  await t.test('is answered there as on the primary, without a write', async (t) => {
    const primary = await openPrimary(t)
    await migrateAll(primary.url, { warn: () => undefined })
    const standby = await openStandbyOf(t, primary)
    const env = { STORAGE_URL: pathToFileURL(t.testdir()).href }
    const alone = await openService(t, { url: primary.url, env })
    const reading = await openService(t, {
      url: primary.url,
      env: { ...env, DATABASE_READ_URL: standby.url },
    })
    const org = await alone.makeOrganization()
    const here = alone.client(org.key)
    const there = reading.client(org.key)
    const names = await fill(alone, here)
    const { reads } = reading.context.replica as Replica
    for (const operation of replicated) {
      const path = fillPath(operation, names)
      const expected = await here.get(path)
      // On a busy machine the primary answers where the replica takes too long.
      const found = await until(async () => {
        const before = { ...reads }
        const answer = await there.get(path)
        return reads.replica > before.replica && reads.fallen === before.fallen && answer
      })
      t.equal(expected.status, 200, path)
      t.same(withoutChance(found.body), withoutChance(expected.body), path)
    }
  })
})

/** An answer without what differs each time. */
function withoutChance(body: unknown) {
  if (typeof body !== 'object') return body
  const { since: _, routing_id: __, ...rest } = body as { since?: string; routing_id?: string }
  return rest
}

/** Something for every list. */
async function fill(service: Service, client: ReturnType<Service['client']>) {
  const handlers = await loadHandlers()
  const workers = await service.startWorkers(handlers)
  const impact = (await client.post('/demo/seed-impact')).body
  const skill_name = (await client.post('/demo/seed-skills')).body.skill_names[0]
  await client.put(`/skills/${skill_name}`, { body_markdown: 'Another text.' })
  const { traces } = (await client.get(`/traces?agent_name=${impact.agent_name}`)).body
  const trace_ids = traces.map(({ trace_id }: { trace_id: string }) => trace_id)
  const dataset = (await client.post('/datasets', { name: 'd', dataset_type: 'sft' })).body
  const wait = { prefer: 'wait=50' }
  for (const seed of [1, 2])
    await client.post(`/datasets/${dataset.id}/build`, { split: { seed } }, wait)
  const imported = await client.post(
    '/import/jsonl',
    '{"agent_name":"other","final_output_preview":"a"}\n{',
    {
      ...wait,
      'content-type': 'application/x-ndjson',
    },
  )
  const manifest_id = impact.v2_manifest_id
  const old = { old_manifest_id: impact.v1_manifest_id }
  const report = await client.post(`/manifests/${manifest_id}/compatibility/run`, old, wait)
  const batch = await client.post(
    '/replay/batches',
    { target_manifest_id: manifest_id, trace_ids },
    wait,
  )
  await client.post(
    '/regression-check',
    { agent_name: impact.agent_name, candidate_manifest_id: manifest_id },
    wait,
  )
  await until(async () => {
    const { jobs } = (await client.get('/jobs?limit=500')).body
    return jobs.every(({ finished_at }: { finished_at: string | null }) => finished_at !== null)
  })
  await workers.stop()
  return {
    skill_name,
    trace_id: trace_ids[0],
    dataset_id: dataset.id,
    version: 'v2',
    import_id: imported.body.import_id,
    manifest_id,
    report_id: report.body.report_id ?? report.body.id,
    agent_name: impact.agent_name,
    replay_batch_id: batch.body.id,
  } as Record<string, string>
}

function fillPath({ path }: Endpoint, names: Record<string, string>) {
  return documentedPath(path)
    .replace('/api/v1', '')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '')
    .concat(QUERIES[path]?.(names) ?? '')
}

/** Of operations that want one, or answer more with it. */
const QUERIES: Readonly<Record<string, (names: Record<string, string>) => string>> = {
  '/skills/analytics/compare': ({ skill_name }) =>
    `?skill=${skill_name}&from_version=1&to_version=2`,
  '/agents': () => '?include_fixtures=true',
  '/replay/export': () => '?verdict=keep',
  '/replay/export/sessions': () => '?verdict=keep',
}
