import t from 'tap'
import { openDatabase } from '../../../sql/core/db.ts'
import { countQuickly } from '../../../sql/core/pages.ts'
import { countTraces, listTraces } from '../../../sql/traces/trace-lists.ts'
import type { TraceFilter } from '../../../sql/traces/trace-filter.ts'
import type { ShownTraceRow } from '../../../sql/traces/traces.ts'
import { openTestDatabase } from '../../support/database.ts'
import fc from '../../support/property.ts'
import { makeOrganization } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

const AGENTS = ['ann', 'bob']
const WORDS = ['apple', 'pear', 'plum']
const MINUTE_MS = 60_000
const START = Date.UTC(2026, 0, 1)

t.test('a list of traces', async (t) => {
  const { sql, url } = await openTestDatabase(t)
  const org = await makeOrganization(sql, 'enterprise')
  const other = await makeOrganization(sql, 'enterprise')
  await sql`
    insert into projects (org_id, id, workspace_id, name)
    values (${org.orgId}, ${OTHER_PROJECT}, ${org.workspaceId}, 'other')`
  await sql`select make_trace_period('2025-01-01')`
  const [manifest] = await sql<{ id: string }[]>`
    insert into manifests (org_id, project_id, id, agent_name, version_number, manifest_hash, shown_hash,
      contract_hash, status, is_closed_world, components_count)
    values (${org.orgId}, ${org.projectId}, gen_random_uuid(), 'ann', 1, ${`sha256:${HASH}`}, '', '', 'draft',
      false, 0) returning id`
  const manifestId = manifest?.id ?? ''
  const periods = await sql<{ period: string }[]>`select period::text from trace_periods`
  t.equal(periods.length, 3)
  const random = fc.sample(fc.array(fc.nat(), { minLength: 12, maxLength: 12 }), TRACES)
  const traces = random.map((numbers, n) => ({
    ...makeTrace(n, numbers, org.projectId, manifestId),
    period: periods[(numbers[3] ?? 0) % 3]?.period,
  }))
  for (const owner of [org, other]) {
    // The neighbour has the same traces, none of which may be seen.
    const ofOwner = traces.map((trace) => ({
      ...trace,
      org_id: owner.orgId,
      ...(owner === other && {
        project_id: other.projectId,
        trace_id: `theirs ${trace.project_id === OTHER_PROJECT} ${trace.trace_id}`,
      }),
    }))
    await sql`
      insert into traces (org_id, project_id, trace_id, period, agent_name, manifest_id, manifest_hash,
        session_id, user_id, environment, status, source_type, started_at, user_input_preview, tags,
        tools_called, span_count, llm_call_count, tool_call_count, tool_error_count, input_tokens,
        output_tokens, content)
      select org_id, project_id, trace_id, period, agent_name, manifest_id, manifest_hash, session_id,
        user_id, environment, status, source_type, started_at, user_input_preview, tags, tools_called,
        0, 0, 0, 0, 0, 0, ''
      from json_populate_recordset(null::traces, ${JSON.stringify(ofOwner)}::text::json)`
    await sql`
      insert into verdicts (org_id, project_id, trace_id, period, verdict, needs_review, quality_avg,
        eval_verdict, reasons, policy_agent_name, policy_version)
      select org_id, project_id, trace_id, period, verdict, needs_review, quality_avg, eval_verdict, '[]', '', 0
      from json_populate_recordset(null::verdicts, ${JSON.stringify(ofOwner)}::text::json)
      where verdict is not null`
    await sql`
      insert into trace_search (org_id, project_id, trace_id, period, document, has_stems)
      select org_id, project_id, trace_id, period, search_document(user_input_preview), true
      from traces where org_id = ${owner.orgId}`
  }
  await sql`
    insert into trace_ids (org_id, project_id, trace_id, period)
    select org_id, project_id, trace_id, period from traces on conflict do nothing`
  await sql`analyze`

  const filters = filterOf(manifestId, [org.projectId, OTHER_PROJECT])
  const matchesOf = (filter: TraceFilter) =>
    traces.filter((trace) => isMatch(trace, filter)).sort(byAge)
  // Few enough rows are tried first that conditions are met among them, and are not.
  const probed = fc.constantFrom(1, 20, 1000)

  t.test('by offset is what a filter and a sort of all traces give', async (t) => {
    const page = fc.record({ limit: fc.integer({ min: 1, max: 30 }), offset: fc.nat({ max: 40 }) })
    await fc.assert(
      fc.asyncProperty(filters, page, probed, async (filter, page, probed) => {
        const rows = await listTraces(sql, org.orgId, filter, page, probed)
        const expected = matchesOf(filter).slice(page.offset, page.offset + page.limit)
        t.same(rows.map(nameOf), expected.map(nameOf), JSON.stringify({ filter, page, probed }))
      }),
      { numRuns: 100 },
    )
  })

  t.test('by cursor has each of them once, in order', async (t) => {
    const limit = fc.integer({ min: 1, max: 60 })
    await fc.assert(
      fc.asyncProperty(filters, limit, probed, async (filter, limit, probed) => {
        const names: string[] = []
        let after: ShownTraceRow | undefined
        for (let isMore = true; isMore;) {
          const rows = await listTraces(sql, org.orgId, filter, { limit, offset: 0, after }, probed)
          names.push(...rows.map(nameOf))
          after = rows.at(-1)
          isMore = rows.length === limit
        }
        const expected = matchesOf(filter).map(nameOf)
        t.same(names, expected, JSON.stringify({ filter, limit, probed }))
      }),
      { numRuns: 20 },
    )
  })

  t.test('is counted up to a limit', async (t) => {
    await fc.assert(
      fc.asyncProperty(filters, fc.constantFrom(5, 10_000), async (filter, limit) => {
        const counted = await countTraces(sql, org.orgId, filter, { limit, withinMs: 30_000 })
        const { length } = matchesOf(filter)
        t.equal(counted, Math.min(limit, length), JSON.stringify(filter))
      }),
      { numRuns: 40 },
    )
  })

  t.test('is planned for its values each time', async (t) => {
    const one = openDatabase(url, { max: 1 })
    t.teardown(() => one.end({ timeout: 1 }))
    const filter = { projectIds: null, tags: ['rare'], verdict: 'keep' }
    await listTraces(one, org.orgId, filter, { limit: 5, offset: 0 })
    await countTraces(one, org.orgId, filter, { limit: 5, withinMs: 30_000 })
    const prepared = await one<
      { statement: string }[]
    >`select statement from pg_prepared_statements`
    t.notOk(prepared.some(({ statement }) => statement.includes('tags')))
  })
})

t.test('a project that fills a page hides no newer traces of another', async (t) => {
  const { sql } = await openTestDatabase(t)
  const { orgId, projectId, workspaceId } = await makeOrganization(sql, 'enterprise')
  await sql`
    insert into projects (org_id, id, workspace_id, name)
    values (${orgId}, ${OTHER_PROJECT}, ${workspaceId}, 'other')`
  const tagged = (name: string, count: number, minute: number, tags: string[]) =>
    Array.from({ length: count }, (_, i) => ({
      trace_id: `${name} ${i}`,
      started_at: new Date(START + (minute + i) * MINUTE_MS).toISOString(),
      tags,
    }))
  const busy = [...tagged('untagged', 40, 200, []), ...tagged('newer', 5, 100, ['red'])]
  await storeJudged(sql, { orgId, projectId }, busy)
  const quiet = tagged('older', 10, 0, ['red'])
  await storeJudged(sql, { orgId, projectId: OTHER_PROJECT }, quiet)
  const filter = { projectIds: null, tags: ['red'] }
  // Of the busy project no tagged trace is among those tried.
  const rows = await listTraces(sql, orgId, filter, { limit: 3, offset: 0 }, 1)
  t.same(
    rows.map(({ trace_id }) => trace_id),
    ['newer 4', 'newer 3', 'newer 2'],
  )
})

t.test('a count that takes longer than its time is null, and the connection goes on', async (t) => {
  const { sql } = await openTestDatabase(t)
  t.equal(await countQuickly(sql, 10, sql`pg_sleep(60)`, 20), null)
  t.equal(await countQuickly(sql, 10, sql`generate_series(1, 7)`, 10_000), 7)
  t.equal(await countQuickly(sql, 10, sql`generate_series(1, 70)`, 10_000), 10)
  t.same(await sql`select current_setting('statement_timeout') as timeout`, [{ timeout: '30s' }])
  await t.rejects(countQuickly(sql, 10, sql`generate_series(1, 1 / 0)`, 10_000), /division by zero/)
})

/** Some starts and ids are shared, by several projects and periods too. */
function makeTrace(n: number, numbers: readonly number[], projectId: string, manifestId: string) {
  const pick = <T>(at: number, values: readonly T[]) =>
    values[(numbers[at] ?? 0) % values.length] as T
  const agent_name = pick(0, AGENTS)
  const inProject = n % 2 ? OTHER_PROJECT : projectId
  const isTied = inProject === projectId && agent_name === 'ann' && pick(2, [true, false])
  return {
    n,
    project_id: inProject,
    trace_id: `trace ${n >> 1}`,
    agent_name,
    manifest_id: isTied ? manifestId : null,
    manifest_hash: isTied ? null : pick(2, [HASH, 'else', null]),
    session_id: pick(4, [null, ...Array.from({ length: 20 }, (_, i) => `session ${i}`)]),
    user_id: pick(5, ['u', 'v', null]),
    environment: pick(6, ['production', 'production', 'test']),
    status: pick(7, ['success', 'success', 'success', 'error']),
    source_type: pick(5, ['production', 'production', 'synthetic']),
    started_at: new Date(
      START +
        pick(
          8,
          Array.from({ length: 90 }, (_, i) => i),
        ) *
          MINUTE_MS,
    ).toISOString(),
    user_input_preview: [pick(9, WORDS), pick(10, WORDS), n === 3 ? 'unicorn' : ''].join(' '),
    tags: [pick(9, ['red', 'blue']), ...(n % 50 === 1 ? ['rare'] : [])],
    tools_called: [pick(10, ['search', 'book'])],
    verdict: pick(11, ['keep', 'keep', 'drop', 'repair', null]),
    eval_verdict: pick(4, ['pass', 'fail', null]),
    needs_review: pick(6, [true, false, false, false]),
    quality_avg: pick(10, [null, 0.1, 0.5, 0.9]),
  }
}
type Made = ReturnType<typeof makeTrace>

function filterOf(manifestId: string, projects: readonly string[]) {
  const at = fc.nat({ max: 90 }).map((minute) => new Date(START + minute * MINUTE_MS))
  // Any one of them, often with two or three others.
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })
  const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.tuple(fc.nat({ max: 3 }), some(arbitrary)).map(([n, value]) => (n === 0 ? value : undefined))
  return fc.record({
    projectIds: fc.constantFrom<(readonly string[] | null)[]>(null, projects, projects.slice(0, 1)),
    agent_name: rarely(fc.constantFrom(...AGENTS, 'nobody')),
    manifest_id: rarely(fc.constant(manifestId)),
    manifest_hash: rarely(fc.constantFrom(HASH, 'else')),
    session_id: rarely(fc.constantFrom('session 1', 'session 2')),
    user_id: rarely(fc.constantFrom('u', 'v')),
    environment: rarely(fc.constantFrom('production', 'test')),
    status: rarely(fc.constantFrom('success', 'error')),
    source_type: rarely(fc.constantFrom('production', 'synthetic')),
    verdict: rarely(fc.constantFrom('keep', 'drop', 'replay')),
    eval_verdict: rarely(fc.constantFrom('pass', 'fail')),
    needs_review: rarely(fc.constant(true as const)),
    tags: rarely(fc.constantFrom(['red'], ['rare'], ['red', 'rare'])),
    tool: rarely(fc.constantFrom('search', 'none')),
    min_score: rarely(fc.constantFrom(0.1, 0.5)),
    max_score: rarely(fc.constantFrom(0.5, 0.05)),
    since: rarely(at),
    until: rarely(at),
    q: rarely(
      fc.constantFrom(
        'apple',
        'pears plum',
        'unicorn',
        'app',
        'apple -pear',
        'plum a',
        '-pear u',
        'p',
      ),
    ),
  })
}

/** What each filter means, one trace at a time. */
function isMatch(trace: Made, filter: TraceFilter) {
  const { projectIds, tags = [], tool, min_score, max_score, since, until, q } = filter
  const started = Date.parse(trace.started_at)
  const equal = [
    'agent_name',
    'manifest_hash',
    'session_id',
    'user_id',
    'environment',
    'status',
    'source_type',
  ] as const
  const quality = trace.verdict === null ? null : trace.quality_avg
  const isOfManifest =
    trace.manifest_id === filter.manifest_id ||
    (trace.manifest_id === null &&
      trace.manifest_hash === HASH &&
      trace.agent_name === 'ann' &&
      trace.project_id !== OTHER_PROJECT)
  return (
    (projectIds === null || projectIds.includes(trace.project_id)) &&
    equal.every((member) => filter[member] === undefined || trace[member] === filter[member]) &&
    (filter.manifest_id === undefined || isOfManifest) &&
    (filter.verdict === undefined || trace.verdict === filter.verdict) &&
    (filter.eval_verdict === undefined ||
      (trace.verdict !== null && trace.eval_verdict === filter.eval_verdict)) &&
    (filter.needs_review === undefined || (trace.verdict !== null && trace.needs_review)) &&
    tags.every((tag) => trace.tags.includes(tag)) &&
    (tool === undefined || trace.tools_called.includes(tool)) &&
    (min_score === undefined || (quality !== null && quality >= min_score)) &&
    (max_score === undefined || (quality !== null && quality <= max_score)) &&
    (!since || started >= since.getTime()) &&
    (!until || started < until.getTime()) &&
    (q === undefined || isFound(trace.user_input_preview.split(' '), q))
  )
}

function isFound(words: readonly string[], q: string) {
  return q
    .split(' ')
    .every((word) =>
      word.startsWith('-')
        ? !words.includes(word.slice(1))
        : words.some((each) => each.startsWith(word.replace(/s$/, ''))),
    )
}

/** Newest first, by start, id and project, as the database compares texts. */
function byAge(a: Made, b: Made) {
  const keys = (trace: Made) => [trace.started_at, trace.trace_id, trace.project_id]
  const [left, right] = [keys(a), keys(b)]
  const at = left.findIndex((key, i) => key !== right[i])
  if (at < 0) return 0
  return Buffer.compare(Buffer.from(right[at] ?? ''), Buffer.from(left[at] ?? ''))
}

function nameOf({ project_id, trace_id }: { project_id: string; trace_id: string }) {
  return `${project_id} ${trace_id}`
}

const TRACES = 600
const OTHER_PROJECT = '0198c0de-0000-7000-8000-000000000002'
const HASH = 'a'.repeat(64)
