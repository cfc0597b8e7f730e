import t from 'tap'
import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import { KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import { readLinePages } from '../../../sql/import/backup/line-pages.ts'
import { readStartTime } from '../../../sql/import/backup/start-time.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

const MIB = 1 << 20
const service = await openService(t)
const { sql } = service
const jsonOf = (bytes: number) => sql`jsonb_build_object('long', repeat('x', ${bytes}))`

t.test('a page has as many traces as have 4 MiB with all about them', async (t) => {
  const org = await service.makeOrganization()
  const { orgId } = org
  await storeJudged(
    sql,
    org,
    Array.from({ length: 12 }, (_, i) => ({ trace_id: `t${10 + i}` })),
  )
  t.same(await pages(orgId, 'trace'), [12])
  await sql`update traces set metadata = ${jsonOf(1.5 * MIB)} where org_id = ${orgId}`
  t.same(await pages(orgId, 'trace'), [2, 2, 2, 2, 2, 2], 'long metadata, however well compressed')
  await sql`update traces set metadata = '{}' where org_id = ${orgId}`
  await sql`update eval_scores set reason = repeat('y', ${1.5 * MIB}) where org_id = ${orgId}`
  t.same(
    await pages(orgId, 'trace', 'score', 'verdict'),
    [6, 6, 6, 6, 6, 6],
    'long reasons of scores',
  )
  t.same(await pages(orgId, 'trace'), [12], 'which do not count where they are not asked for')
  await sql`update verdicts set reasons = jsonb_build_array(${jsonOf(5 * MIB)}) where org_id = ${orgId}`
  t.same(await pages(orgId, 'trace', 'verdict'), Array(12).fill(2), 'one trace at least')
})

t.test('a page of other rows has as many as have 4 MiB', async (t) => {
  const org = await service.makeOrganization()
  const { orgId } = org
  const { post } = service.client(org.key)
  for (let i = 0; i < 5; i++) await post('/evaluators', { name: `e${i}`, ...EVALUATOR })
  t.same(await pages(orgId, 'evaluator'), [5])
  await sql`update evaluators set config = ${jsonOf(1.5 * MIB)} where org_id = ${orgId}`
  t.same(await pages(orgId, 'evaluator'), [2, 2, 1])
  const components = [{ component_type: 'tool', component_name: 'refund', schema_json: {} }]
  for (let i = 0; i < 3; i++) {
    const more = { component_type: 'model', component_name: `m${i}` }
    await post('/manifests', { agent_name: 'shop', components: [...components, more] })
  }
  t.same(await pages(orgId, 'manifest'), [3])
  await sql`update manifest_components set schema_json = ${jsonOf(2 * MIB)}
    where org_id = ${orgId} and component_type = 'tool'`
  t.same(await pages(orgId, 'manifest'), [1, 1, 1])
})

t.test(
  'what was being written at the start is there, and nobody waits for it forever',
  async (t) => {
    const { orgId, projectId } = await service.makeOrganization()
    const writer = await sql.reserve()
    await writer`begin`
    await writer`
    insert into datasets (org_id, project_id, id, name, dataset_type)
    values (${orgId}, ${projectId}, gen_random_uuid(), 'written', 'sft')`
    t.type(await readStartTime(sql, 0), 'string', 'after so long')
    let hasStarted = false
    const started = readStartTime(sql, 600_000).finally(() => (hasStarted = true))
    // Far more than it has to ask for.
    for (let i = 0; i < 20; i++) await sql`select 1`
    t.notOk(hasStarted, 'the start waits')
    await writer`commit`
    writer.release()
    const scope = { orgId, projectIds: null, workspaceId: null, until: await started }
    const kinds = KINDS.filter(({ name }) => name === 'dataset')
    t.equal((await Array.fromAsync(readLinePages(sql, scope, kinds))).flat().length, 1)
  },
)

t.test('what is decided after the start of an export is not in it', async (t) => {
  const org = await service.makeOrganization()
  await storeJudged(sql, org, [{ trace_id: 'before' }, { trace_id: 'after' }])
  const until = await readStartTime(sql)
  await sql`
    update verdicts set decided_at = clock_timestamp()
    where org_id = ${org.orgId} and trace_id = 'after'`
  const kinds = KINDS.filter(({ name }) => name === 'trace' || name === 'verdict')
  const scope = { orgId: org.orgId, projectIds: null, workspaceId: null, until }
  const lines = (await Array.fromAsync(readLinePages(sql, scope, kinds))).flat()
  t.same(
    lines.map(({ kind }) => kind.name),
    ['trace', 'trace', 'verdict'],
  )
})

/** How many lines each page of these kinds has, those without any left out. */
async function pages(orgId: string, ...names: string[]) {
  const kinds: readonly Kind[] = KINDS.filter(({ name }) => names.includes(name))
  const scope = { orgId, projectIds: null, workspaceId: null, until: await readStartTime(sql) }
  const counts: number[] = []
  for await (const page of readLinePages(sql, scope, kinds)) counts.push(page.length)
  return counts.filter((count) => count > 0)
}

const EVALUATOR = { type: 'regex', config: { pattern: 'a' } }
