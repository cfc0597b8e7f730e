import { createHash } from 'node:crypto'
import t from 'tap'
import { order } from '../../../jobs/rules/core/order.ts'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType } from '../../../jobs/rules/datasets/recipe.ts'
import type { Sql, Transaction } from '../../../sql/core/db.ts'
import type { SelectedTrace } from '../../../sql/datasets/passing-traces.ts'
import { selectTraces } from '../../../sql/datasets/selection.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

const IDS = [
  'é',
  'a',
  'B',
  'ab',
  'a b',
  'Z',
  'z',
  '_',
  '10',
  '2',
  'unscored',
  'labels',
  'in a span',
]

t.test('what is selected with a trace', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** An organization with traces of these ids, and of one that is the same but for the organization. */
  async function open(more: readonly object[] = []) {
    const traces = [...IDS.map((trace_id) => ({ trace_id, quality: null })), ...more]
    const [org, neighbour] = [await service.makeOrganization(), await service.makeOrganization()]
    for (const { orgId, projectId } of [org, neighbour]) {
      await storeJudged(sql, { orgId, projectId }, traces as Parameters<typeof storeJudged>[2])
      await storeOddScores(sql, orgId, projectId)
    }
    await moveHalf(sql)
    return org
  }

  t.test(
    'is what each trace has by itself, in whatever batches, of many traces or few',
    async (t) => {
      const { orgId, projectId } = await open()
      const expected = await readNaively(sql, orgId)
      for (const [batch, share] of [
        [1, 1],
        [4, 0],
        [4, 1],
        [1000, 0],
      ] as const) {
        const selected = await select(sql, { orgId, projectId }, 'sft', { batch, share })
        t.same(
          selected.map(({ trace_id, scores, score_fingerprint }) => [
            trace_id,
            Object.entries(scores),
            score_fingerprint.toString('hex'),
          ]),
          expected,
          `in batches of ${batch} with a share of ${share}`,
        )
      }
    },
  )

  t.test('has what a person preferred, only for pairs', async (t) => {
    const { orgId, projectId } = await open()
    const told = async (type: DatasetType) => {
      const selected = await select(sql, { orgId, projectId }, type, { batch: 3, share: 0 })
      return selected
        .sort((a, b) => byBytes(a.trace_id, b.trace_id))
        .filter(({ preferred, pair_id }) => preferred !== null || pair_id !== null)
        .map(({ trace_id, preferred, pair_id }) => [trace_id, preferred, pair_id])
    }
    t.same(await told('dpo'), [
      ['B', null, 'third'],
      ['a', true, 'first'],
      ['ab', false, null],
    ])
    t.same(await told('sft'), [])
    t.same(await told('kto'), [])
  })

  t.test('has the newest correction, unless outputs are labelled', async (t) => {
    const { orgId, projectId } = await open()
    await sql`
      insert into annotations (org_id, project_id, trace_id, id, corrected_output, error_categories, tags,
        created_by, created_at, correction_withdrawn)
      select ${orgId}, ${projectId}, trace_id, gen_random_uuid(), text, '{}', '{}', gen_random_uuid(),
        '2026-01-01'::timestamptz + age * interval '1 h', withdrawn
      from (values ('a', null, 1, true), ('a', 'old', 1.5, false), ('a', 'newest', 3, false),
        ('a', null, 4, false), ('a', 'newer', 2, false), ('é', null, 1, false),
        ('ab', 'withdrawn', 1, false), ('ab', null, 2, true)) as said (trace_id, text, age, withdrawn)`
    const told = async (type: DatasetType, batching?: Parameters<typeof select>[3]) => {
      const selected = await select(sql, { orgId, projectId }, type, batching)
      const corrected = selected.flatMap(({ annotation_id }) => annotation_id ?? [])
      const texts = await sql<{ text: string }[]>`
        select corrected_output as text from annotations where id = any(${corrected}::uuid[])`
      return texts.map(({ text }) => text)
    }
    t.same(await told('sft'), ['newest'])
    t.same(await told('sft', { batch: 3, share: 0 }), ['newest'])
    t.same(await told('dpo'), ['newest'])
    t.same(await told('kto'), [])
    const bytes = async (type: DatasetType) => {
      const selected = await select(sql, { orgId, projectId }, type)
      return selected.find(({ trace_id }) => trace_id === 'a')?.content_bytes ?? NaN
    }
    t.equal((await bytes('sft')) - (await bytes('kto')), 'newest'.length)
  })

  t.test('leads from a replay back to the first trace of its line, over all periods', async (t) => {
    const replay = (trace_id: string, source: string) => ({
      trace_id,
      source_type: 'replayed',
      metadata: { original_trace_id: source },
    })
    const { orgId, projectId } = await open([
      { trace_id: 'asked', session_id: 'session', parent_trace_id: 'a' },
      replay('asked again', 'asked'),
      replay('asked thrice', 'asked again'),
      replay('of none', 'gone'),
    ])
    const selected = await select(sql, { orgId, projectId }, 'dpo')
    const told = selected
      .filter(({ attempted }) => attempted !== null)
      .map((trace) => [trace.trace_id, trace.attempted, trace.first?.trace_id ?? null])
    t.same(told, [
      ['asked', 'trace asked', null],
      ['asked again', 'trace asked', 'asked'],
      ['asked thrice', 'trace asked', 'asked'],
      ['of none', 'trace gone', 'of none'],
    ])
    const thrice = selected.find(({ trace_id }) => trace_id === 'asked thrice')
    t.match(thrice, { source_trace_id: 'asked again', first: { session_id: 'session' } })
  })

  t.test('ends with the caller, who may leave off after any batch', async (t) => {
    const org = await open()
    await sql.begin(async (tx: Transaction) => {
      for await (const traces of selectTraces(tx, selectionOf(org, 'sft'), {
        batch: 2,
        share: 1,
      })) {
        t.equal(traces.length, 2)
        break
      }
      t.same([...(await tx`select 1 as one`)], [{ one: 1 }])
    })
  })
})

/** Several scores of a name, of several sources, of spans, without values, with names that sort oddly. */
async function storeOddScores(sql: Sql, orgId: string, projectId: string) {
  await sql`
    insert into eval_scores (org_id, project_id, period, trace_id, name, source, span_id, identifier,
      score_id, value, data_type, label, passed, category, source_kind, metadata)
    select ${orgId}, ${projectId}, storing_period(), trace_id, name, source, span_id, identifier, gen_random_uuid(), value,
      'numeric', label, passed, 'quality', 'human', metadata
    from (
      select trace_id, name, source, '' as span_id, n::text as identifier, 0.1 * n as value,
        null as label, n % 2 = 0 as passed, '{}'::jsonb as metadata
      from unnest(${IDS.slice(0, 10)}::text[]) trace_id, unnest('{tone,Tone,é,10,__proto__}'::text[]) name,
        unnest('{human,Custom}'::text[]) source, generate_series(1, 3) n
      union all
      select trace_id, 'tone', 'custom', 'span', '', 0.9, 'odd', null, '{}'
      from unnest('{a,in a span}'::text[]) trace_id
      union all
      select trace_id, 'label', 'custom', '', '', null, 'good', true, '{}'
      from unnest('{é,labels}'::text[]) trace_id
      union all
      select trace_id, 'preference', 'human', '', 'preference', value, null, null, metadata
      from (values ('a', 1, '{"pair_id": "first"}'::jsonb), ('ab', 0, '{}'), ('B', 0.5, '{"pair_id": "third"}'))
        as compared (trace_id, value, metadata)
    ) odd`
}

/** Moves every second trace to another period, with what belongs to it. */
async function moveHalf(sql: Sql) {
  await sql.begin(async (tx: Transaction) => {
    const [periods] = await tx<{ one: string; other: string }[]>`
      select min(period)::text as one, max(period)::text as other from trace_periods`
    if (!periods || periods.one === periods.other) throw new Error('There is one period only')
    for (const table of ['trace_ids', 'traces', 'verdicts', 'eval_scores', 'trace_search']) {
      await tx`update ${tx(table)} set period = case when hashtext(trace_id) % 2 = 0 then ${periods.one}::date
        else ${periods.other}::date end`
    }
  })
}

/** Ids, means by name and fingerprints, computed from the rows of one trace after the other. */
async function readNaively(sql: Sql, orgId: string) {
  const traces = [...IDS].sort(byBytes)
  return Promise.all(
    traces.map(async (traceId) => {
      const rows = await sql<Score[]>`
        select name, source, span_id, identifier, value, value::text as shown, label, passed
        from eval_scores where org_id = ${orgId} and trace_id = ${traceId}`
      const sorted = [...rows].sort(
        (a, b) =>
          byBytes(a.name, b.name) ||
          byBytes(a.source, b.source) ||
          byBytes(a.span_id, b.span_id) ||
          byBytes(a.identifier, b.identifier),
      )
      const told = sorted.map((row) =>
        [row.name, row.source, row.span_id, row.identifier, row.shown, row.label, shownPassed(row)]
          .filter((part) => part !== null)
          .join('\u001f'),
      )
      const counted = sorted.filter(({ span_id, value }) => span_id === '' && value !== null)
      const means = [...Map.groupBy(counted, ({ name }) => name)].map(
        ([name, scores]): [string, number] => [
          name,
          scores.reduce((sum, { value }) => sum + (value ?? 0), 0) / scores.length,
        ],
      )
      const fingerprint = createHash('sha256').update(told.join('\u001e')).digest('hex')
      return [traceId, Object.entries(Object.fromEntries(means)), fingerprint]
    }),
  )
}

function shownPassed({ passed }: Score) {
  return passed === null ? null : passed ? 't' : 'f'
}

/** In the order of their ids. */
async function select(
  sql: Sql,
  org: { orgId: string; projectId: string },
  type: DatasetType,
  options = { batch: 2, share: 1 },
) {
  return sql.begin('isolation level repeatable read read only', async (tx: Transaction) => {
    const selected: SelectedTrace[] = []
    for await (const traces of selectTraces(tx, selectionOf(org, type), options)) {
      selected.push(...traces)
    }
    return selected.sort((a, b) => byBytes(a.trace_id, b.trace_id))
  })
}

function selectionOf(
  { orgId, projectId }: { orgId: string; projectId: string },
  type: DatasetType,
) {
  const recipe = completeRecipe(type, null, { filters: { verdicts: [] } })
  return { orgId, projectId, recipe }
}

function byBytes(a: string, b: string) {
  return order(Buffer.from(a).toString('hex'), Buffer.from(b).toString('hex'))
}

interface Score {
  readonly name: string
  readonly source: string
  readonly span_id: string
  readonly identifier: string
  readonly value: number | null
  readonly shown: string | null
  readonly label: string | null
  readonly passed: boolean | null
}
