import t from 'tap'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { selectTraces } from '../../../sql/datasets/selection.ts'
import { countFiltered } from '../../../sql/datasets/trace-filters.ts'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  readJsonl,
  readParquet,
} from '../../support/built-dataset.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'

t.test('what a dataset is made of', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)

  t.test('each filter passes what it says and counts what it leaves out', async (t) => {
    const odd = {
      agent_name: 'other',
      quality: 0.75,
      tags: ['x', 'y'],
      started_at: '2026-05-01T00:00:00Z',
      status: 'partial',
      source_type: 'synthetic',
      needs_review: true,
      llm_calls: [{ rendered_input: hello('odd'), tool_calls: [{ tool_name: 'find', args: {} }] }],
    }
    const { api, orgId, projectId } = await openOrganization([
      {
        trace_id: 'plain',
        messages: hello('plain'),
        tags: ['x'],
        started_at: '2026-04-01T00:00:00Z',
      },
      { trace_id: 'unjudged', messages: hello('unjudged'), verdict: null },
      { trace_id: 'bad', messages: hello('bad'), quality: 0.1 },
    ])
    const components = [{ type: 'tool', name: 'find' }]
    const registered = await api.post('/manifests', { agent_name: 'other', components })
    const { manifest_id } = registered.body
    await storeJudged(service.sql, { orgId, projectId }, [{ trace_id: 'odd', manifest_id, ...odd }])
    const cases: [object, string[], Record<string, number>][] = [
      [{}, ['odd', 'plain'], { unjudged: 1, verdicts: 1 }],
      [{ verdicts: ['drop'] }, ['bad'], { unjudged: 1, verdicts: 2 }],
      [{ agent_name: 'other' }, ['odd'], { agent_name: 3 }],
      [{ manifest_ids: [manifest_id] }, ['odd'], { manifest_ids: 3 }],
      [{ eval_verdict: 'fail' }, [], { unjudged: 1, verdicts: 1, eval_verdict: 2 }],
      [{ min_eval_score: 0.8 }, ['plain'], { unjudged: 1, verdicts: 1, min_eval_score: 1 }],
      [{ tags: ['x'] }, ['odd', 'plain'], { tags: 2 }],
      [{ tags: ['y', 'x'] }, ['odd'], { tags: 3 }],
      [{ since: '2026-05-01T00:00:00Z' }, ['odd'], { since: 3 }],
      [{ until: '2026-05-01T00:00:00Z' }, ['plain'], { until: 1, unjudged: 1, verdicts: 1 }],
      [{ status: 'partial' }, ['odd'], { status: 3 }],
      [{ tool: 'find' }, ['odd'], { tool: 3 }],
      [{ source_type: 'synthetic' }, ['odd'], { source_type: 3 }],
    ]
    for (const [filters, ids, filtered] of cases) {
      const version = await buildDataset(api, 'sft', { filters })
      const rows = await readJsonl(api, version)
      t.same(
        rows.map(({ provenance }) => provenance.trace_id),
        ids,
        JSON.stringify(filters),
      )
      const counts = Object.entries(filtered).map(([name, n]) => [`filtered.${name}`, n])
      t.same(version.dropped_counts, Object.fromEntries(counts), JSON.stringify(filters))
    }
    const reviewed = await buildDataset(api, 'sft', { options: { include_needs_review: false } })
    t.equal(reviewed.row_count, 1)
    t.equal(reviewed.dropped_counts['filtered.needs_review'], 1)
    const locked = await buildDataset(api, 'sft')
    t.same(locked.manifest_ids, [manifest_id])
    // As if the trace had come before its manifest.
    await service.sql`update traces set manifest_id = null where org_id = ${orgId}`
    const untied = await buildDataset(api, 'sft', { filters: { manifest_ids: [manifest_id] } })
    t.equal(untied.row_count, 1)
  })

  t.test(
    'filters that select nothing give a version without rows and the counts of why',
    async (t) => {
      const { api, key } = await openOrganization([{ trace_id: 'a' }])
      const version = await buildDataset(api, 'sft', { filters: { agent_name: 'nobody' } })
      t.equal(version.row_count, 0)
      t.same(version.dropped_counts, { 'filtered.agent_name': 1 })
      t.same(await readJsonl(api, version), [])
      t.same(await readParquet(service, key, version), [])
    },
  )

  t.test('of more rows than wanted a sample stays, the same one again', async (t) => {
    const traces = Array.from({ length: 30 }, (_, n) => ({
      trace_id: `t-${n}`,
      messages: hello(`${n}`),
    }))
    const { api, ...org } = await openOrganization(traces)
    const few = await buildDataset(api, 'sft', { filters: { max_rows: 5 } })
    t.equal(few.row_count, 5)
    t.same(few.dropped_counts, { max_rows: 25 })
    await storeJudged(service.sql, org, [{ trace_id: 'one-more', messages: hello('more') }])
    const again = await buildVersion(api, few.dataset_id, { filters: { max_rows: 6 } })
    const ids = async (version: typeof few) =>
      (await readJsonl(api, version)).map(({ provenance }) => provenance.row_id)
    const [before, after] = [await ids(few), await ids(again)]
    t.equal(before.filter((id) => after.includes(id)).length, 5)
  })

  t.test(
    'traces of a manifest that only name its hash are its traces, and have its tools',
    async (t) => {
      const org = await openOrganization([])
      const parameters = { type: 'object', properties: { q: { type: 'string' } } }
      const components = [
        { type: 'tool', name: 'find', content: { description: 'Finds', parameters } },
      ]
      const { body } = await org.api.post('/manifests', { agent_name: 'agent', components })
      const { manifest_id, manifest_hash } = body
      const messages = [
        { role: 'user', content: 'Find it' },
        {
          role: 'assistant',
          tool_calls: [{ id: '1', function: { name: 'find', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: '1', content: 'found' },
        { role: 'assistant', content: 'Here' },
      ]
      await storeJudged(service.sql, org, [
        { trace_id: 'by id', manifest_id, messages },
        {
          trace_id: 'by hash',
          manifest_hash: manifest_hash.replace('sha256:', ''),
          messages: [...messages, ...hello('by hash')],
        },
        { trace_id: 'of another agent', agent_name: 'other', manifest_hash, messages },
        { trace_id: 'of none', messages: hello('none') },
      ])
      const version = await buildDataset(org.api, 'sft', {
        filters: { manifest_ids: [manifest_id] },
      })
      const rows = await readJsonl(org.api, version)
      t.same(
        rows.map(({ provenance }) => provenance.trace_id),
        ['by hash', 'by id'],
      )
      for (const { tools, provenance } of rows) {
        t.same(tools, [
          { type: 'function', function: { name: 'find', description: 'Finds', parameters } },
        ])
        t.match(provenance, { tools_from: 'manifest' })
      }
      t.same(version.manifest_ids, [manifest_id])
      t.same(version.dropped_counts, { 'filtered.manifest_ids': 2 })
    },
  )

  t.test('a recipe for any verdict counts the traces that have none', async (t) => {
    const { orgId, projectId } = await openOrganization([
      { trace_id: 'kept' },
      { trace_id: 'bad', quality: 0 },
      { trace_id: 'unjudged', verdict: null },
    ])
    const recipe = completeRecipe('sft', null, { filters: { verdicts: [] } })
    const selection = { orgId, projectId, recipe }
    const selected = await service.sql.begin(async (tx: Transaction) => {
      const ids: string[] = []
      for await (const traces of selectTraces(tx, selection, { batch: 10, share: 1 })) {
        ids.push(...traces.map(({ trace_id }) => trace_id))
      }
      return ids
    })
    t.same(selected.sort(), ['bad', 'kept'])
    t.same(await countFiltered(service.sql, selection), {
      filtered: new Map([['filtered.unjudged', 1]]),
      all: 3,
      passing: 2,
    })
  })

  t.test('a verdict under eval_verdict selects the traces of that verdict', async (t) => {
    const { api } = await openOrganization([
      { trace_id: 'kept', messages: hello('kept') },
      {
        trace_id: 'masked',
        verdict: 'repair',
        reasons: [{ code: 'step.masked' }],
        messages: hello('m'),
      },
    ])
    for (const [eval_verdict, trace_id] of [
      ['keep', 'kept'],
      ['repair', 'masked'],
    ]) {
      const version = await buildDataset(api, 'sft', { filters: { eval_verdict } })
      const rows = await readJsonl(api, version)
      t.same(
        rows.map(({ provenance }) => provenance.trace_id),
        [trace_id],
      )
    }
  })

  t.test('one bad trace costs only itself', async (t) => {
    const { api } = await openOrganization([
      { trace_id: 'good' },
      { trace_id: 'nul', messages: hello('a\0b') },
      { trace_id: 'surrogate', messages: hello('\ud800') },
      {
        trace_id: 'textless',
        messages: [
          { role: 'user', content: [{ type: 'text' }] },
          { role: 'assistant', content: 'Nice' },
        ],
      },
      { trace_id: 'long', messages: hello('x'.repeat(4000)) },
    ])
    const version = await buildDataset(api, 'sft', { options: { max_tokens: 500 } })
    t.equal(version.row_count, 1)
    t.same(version.dropped_counts, { 'invalid.content': 1, 'invalid.text': 2, too_long: 1 })
  })

  t.test('rows with too many or too few turns are left out and counted', async (t) => {
    const turns = (n: number) => Array.from({ length: n }, () => hello(`of ${n}`)).flat()
    const { api } = await openOrganization(
      [1, 2, 3].map((n) => ({ trace_id: `turns-${n}`, messages: turns(n) })),
    )
    const version = await buildDataset(api, 'sft', { options: { min_turns: 2, max_turns: 2 } })
    const rows = await readJsonl(api, version)
    t.same(
      rows.map(({ provenance }) => provenance.trace_id),
      ['turns-2'],
    )
    t.same(version.dropped_counts, { too_few_turns: 1, too_many_turns: 1 })
  })

  t.test('failed steps of a trace to repair are masked', async (t) => {
    const call = (id: string) => ({
      role: 'assistant',
      tool_calls: [{ id, function: { name: 'f', arguments: '{}' } }],
    })
    const masked = [{ rule: 10, code: 'step.masked', subject: 'tool_calls', message: '' }]
    const llm_calls = [
      {
        rendered_input: [
          { role: 'user', content: 'Hi' },
          call('1'),
          { role: 'tool', tool_call_id: '1', content: 'boom' },
        ],
        output: { content: 'Done' },
        tool_calls: [{ id: '1', tool_name: 'f', status: 'error' }],
      },
    ]
    const other = [{ rule: 9, code: 'compat.repair', subject: 'f', message: '' }]
    const { api } = await openOrganization([
      { trace_id: 'masked', verdict: 'repair', reasons: masked, llm_calls },
      { trace_id: 'other', verdict: 'repair', reasons: other, messages: hello('other') },
    ])
    const kept = await buildDataset(api, 'sft', { filters: { verdicts: ['keep'] } })
    t.equal(kept.row_count, 0)
    const version = await buildDataset(api, 'sft')
    const [row] = await readJsonl(api, version)
    t.same(
      row?.messages.map(({ weight }) => weight),
      [0, 0, 0, 1],
    )
    t.equal(row?.provenance.repaired, true)
    t.same(version.dropped_counts, { unrepaired: 1 })
  })

  t.test('provenance has the scores of the trace by name', async (t) => {
    const { api, ...org } = await openOrganization([{ trace_id: 'a', quality: 0.75 }])
    await service.sql`
      insert into eval_scores (org_id, project_id, period, trace_id, name, source, identifier, score_id,
        value, data_type, category, source_kind)
      select ${org.orgId}, ${org.projectId}, storing_period(), 'a', 'tone', 'human', n::text, gen_random_uuid(), n * 0.25,
        'numeric', 'quality', 'human' from generate_series(1, 2) n`
    const [row] = await readJsonl(api, await buildDataset(api, 'sft'))
    t.same(row?.provenance.scores, { reward: 0.75, tone: 0.375 })
  })
})
