import t from 'tap'
import { hashFilters } from '../../jobs/rules/datasets/filters.ts'
import type { Filters } from '../../jobs/rules/datasets/filters.ts'
import { KINDS } from '../../jobs/rules/import/backup/lines.ts'
import { modelOf } from '../support/backup/found-regression.ts'
import { fillOrganization, PAYMENTS } from '../support/backup/full-organization.ts'
import {
  isAboutTrace,
  kindOf,
  linesOf,
  openInstallation,
  withEnd,
} from '../support/backup/backups.ts'
import { shownState } from '../support/backup/shown-state.ts'
import { firstDifference } from '../support/backup/first-difference.ts'
import { conversation } from '../support/backup/sent-traces.ts'
import { toolComponent } from '../support/agents.ts'
import { refundTool } from '../support/backup/agent-history.ts'
import { settled } from '../support/settled.ts'
import type { Sql } from '../../sql/core/db.ts'
import { LONG } from '../faults/stage.ts'

const TRACES = LONG ? 2000 : 300

const source = await openInstallation(t)
const owner = await source.service.makeOrganization()
await fillOrganization(source.service, owner, { traces: TRACES })
const whole = await source.take(owner)

t.test('a backup has lines of every kind, and is the same when it is taken again', async (t) => {
  const kinds = new Set(linesOf(whole).map(kindOf))
  const missing = KINDS.map(({ name }) => name).filter((name) => !kinds.has(name))
  t.same(missing, [
    'skill_benchmark',
    'public_skill_assignment',
    'repair_failure',
    'subagent_drift',
  ])
  t.equal(firstDifference(await source.take(owner), whole), undefined)
})

t.test('restored into an empty installation it is exported as the same bytes', async (t) => {
  const empty = await openInstallation(t)
  const org = await empty.service.makeOrganization()
  t.match(await empty.restore(org, whole), { status: 'succeeded', error_count: 0, error: null })
  t.equal(firstDifference(await empty.take(org), whole), undefined)

  const [shown, wanted] = [
    await shownState(empty.service, org),
    await shownState(source.service, owner),
  ]
  for (const path of Object.keys(wanted)) t.same(shown[path], wanted[path], `GET ${path}`)

  t.match(await empty.restore(org, whole), { status: 'succeeded', imported_count: 0 })
  t.equal(firstDifference(await empty.take(org), whole), undefined, 'again, it changes nothing')
})

t.test('an organization that has half of it gets the other half, and nothing twice', async (t) => {
  const org = await source.service.makeOrganization()
  const half = withEnd(halfOf(linesOf(whole)))
  t.match(await source.restore(org, half), { status: 'succeeded', error_count: 0 })
  t.equal(firstDifference(await source.take(org), half), undefined)
  t.match(await source.restore(org, whole), { status: 'succeeded', error_count: 0 })
  t.equal(firstDifference(await source.take(org), whole), undefined)
})

t.test('what an organization made by itself stays, and the rest refers to it', async (t) => {
  const { service } = source
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const manifest = { agent_name: 'shop', components: [refundTool], activate: true }
  const { manifest_id } = (await client.post('/manifests', manifest)).body
  await client.post('/projects', { name: PAYMENTS, workspace_id: org.workspaceId })
  const writer = { agent_name: 'writer', components: [modelOf(1)], project: PAYMENTS }
  t.equal((await client.post('/manifests', writer)).status, 201)
  await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
  await client.post('/traces', conversation('refund-0', 'of its own'))
  await settled(service.sql, org.orgId)
  const ended = await source.restore(org, whole)
  t.match(ended, { status: 'succeeded', losses: { conflict: Number } })

  const { manifests } = (await client.get('/manifests?agent_name=shop')).body
  const hashes = manifests.map((each: { manifest_hash: string }) => each.manifest_hash)
  t.equal(new Set(hashes).size, hashes.length, 'no manifest is there twice')
  t.match((await client.get('/traces/refund-1')).body, { manifest_id })
  t.match((await client.get('/traces/refund-0')).body, { manifest_id: null, revisions: [] })
  t.match((await client.get('/decision-policy')).body, { version: 1, thresholds: { keep_at: 0.9 } })
  t.same(await unresolved(service.sql, org.orgId), [])
  const versions = await service.sql<{ filters: Filters; filter_hash: string }[]>`
    select recipe->'filters' as filters, filter_hash from dataset_versions where org_id = ${org.orgId}`
  for (const { filters, filter_hash } of versions) t.equal(hashFilters(filters), filter_hash)
})

t.test('a version whose number is taken gets the next one, and is what it was', async (t) => {
  const { service } = source
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const own = { agent_name: 'shop', components: [toolComponent('own')], activate: true }
  const { manifest_id } = (await client.post('/manifests', own)).body
  t.match(await source.restore(org, whole), { status: 'succeeded', error_count: 0 })
  const listed = async ({ key }: { key: string }) =>
    (await service.client(key).get('/manifests?agent_name=shop')).body.manifests as Shown[]
  const theirs = (await listed(owner)).map((each) => each.manifest_hash).toReversed()
  const restored = (await listed(org)).filter(({ id }) => id !== manifest_id)
  t.same(restored.map((each) => each.manifest_hash).toSorted(), theirs.toSorted())
  t.notOk(restored.some(({ status }) => status === 'active'))
  const first = restored.find((each) => each.manifest_hash === theirs[0])
  t.match(first, { version_label: `v${theirs.length + 1}` }, 'the one that was the first')
  t.match((await client.get(`/manifests/${manifest_id}`)).body, {
    status: 'active',
    version_label: 'v1',
  })
  t.same(await unresolved(service.sql, org.orgId), [])
})

/** Rows that name a manifest which the organization has not. */
async function unresolved(sql: Sql, orgId: string) {
  const named = await sql<{ what: string }[]>`
    with named (what, id) as (
      select 'trace ' || trace_id, manifest_id from traces where org_id = ${orgId}
      union all select 'verdict of ' || trace_id, target_manifest_id from verdicts where org_id = ${orgId}
      union all select 'examination of ' || trace_id, target_manifest_id
        from trace_examinations where org_id = ${orgId}
      union all select 'dataset version', unnest(manifest_ids) from dataset_versions where org_id = ${orgId}
      union all select 'recipe', jsonb_array_elements_text(recipe->'filters'->'manifest_ids')::uuid
        from dataset_versions where org_id = ${orgId}
      union all select 'replay batch', jsonb_array_elements_text(filters->'manifest_ids')::uuid
        from replay_batches where org_id = ${orgId}
      union all select 'series', (jsonb_array_elements(versions)->>'manifest_id')::uuid
        from regression_series where org_id = ${orgId}
    )
    select what from named where id is not null
      and not exists (select from manifests m where m.org_id = ${orgId} and m.id = named.id)`
  return [...named]
}

/** The header, what traces refer to, every second trace with its followers, and no dataset or replay. */
function halfOf(lines: readonly string[]) {
  let traces = 0
  return lines.filter((line) => {
    const kind = kindOf(line)
    if (kind === 'trace') traces++
    return isAboutTrace(line) ? traces % 2 === 0 : !LATER.has(kind)
  })
}

interface Shown {
  readonly id: string
  readonly manifest_hash: string
  readonly version_label: string
  readonly status: string
}

const LATER = new Set([
  'end',
  'evaluator',
  'skill_assignment',
  'dataset',
  'dataset_version',
  'replay_batch',
  'replay_task',
  'regression_check',
  'regression_finding',
  'regression_series',
  'regression_baseline',
])
