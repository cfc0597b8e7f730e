import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  readJsonl,
  readParquet,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'

t.test('corrected outputs in datasets', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  type Api = Awaited<ReturnType<typeof openOrganization>>['api']

  async function correct(api: Api, trace_id: string, corrected_output: string) {
    const { status, body } = await api.post(`/traces/${trace_id}/annotations`, { corrected_output })
    t.equal(status, 201)
    return body.id as string
  }
  const contents = (messages: Row['messages']) => messages.map(({ content }) => content)
  const annotationOf = ({ provenance }: Row) =>
    (provenance as { annotation_id?: string | null }).annotation_id

  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: '1', function: { name: 'find', arguments: '{}' } }],
  }
  const traces = [
    { trace_id: 'bad', messages: hello('bad'), quality: 0 },
    { trace_id: 'good', messages: hello('good'), quality: 1, task_id: 'task' },
    { trace_id: 'middling', messages: hello('middling'), quality: 0.5, task_id: 'task' },
    { trace_id: 'unscored', messages: hello('unscored'), quality: null },
    { trace_id: 'same', messages: hello('same') },
    {
      trace_id: 'silent',
      messages: [
        { role: 'user', content: 'silent' },
        call,
        { role: 'tool', tool_call_id: '1', content: 'x' },
      ],
    },
    { trace_id: 'plain', messages: hello('plain') },
    { trace_id: 'private', messages: hello('private'), reasons: [{ code: 'policy.consent' }] },
  ]
  const LONG = 'A much longer greeting than the one that was given, '.repeat(20)

  t.test('are chosen over what the trace said, whatever its scores and task', async (t) => {
    const { api, key } = await openOrganization(traces)
    const ids = {
      bad: await correct(api, 'bad', LONG),
      good: await correct(api, 'good', 'Hi!'),
      middling: await correct(api, 'middling', 'Good day'),
      unscored: await correct(api, 'unscored', 'Good evening'),
    }
    await correct(api, 'same', '  hello, SAME!')
    await correct(api, 'silent', 'Here it is')
    await correct(api, 'private', 'Never')
    const version = await buildDataset(api, 'dpo')
    const rows = await readJsonl(api, version)
    t.same(
      rows.map((row) => [
        row.provenance.trace_id,
        row.provenance.rejected?.trace_id,
        annotationOf(row),
        contents(row.prompt),
        contents(row.chosen),
        contents(row.rejected),
      ]),
      [
        ['good', 'good', ids.good, ['good'], ['Hi!'], ['Hello, good']],
        ['middling', 'middling', ids.middling, ['middling'], ['Good day'], ['Hello, middling']],
        ['bad', 'bad', ids.bad, ['bad'], [LONG], ['Hello, bad']],
        ['unscored', 'unscored', ids.unscored, ['unscored'], ['Good evening'], ['Hello, unscored']],
      ],
    )
    t.same(version.dropped_counts, {
      near_identical: 1,
      no_output: 1,
      no_task: 1,
      'policy.consent': 1,
    })
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
  })

  t.test('leave the pairs of attempts as they are, and these them', async (t) => {
    const attempts = [
      { trace_id: 'g1', task_id: 'q', quality: 1, messages: said('Yes one') },
      { trace_id: 'g2', task_id: 'q', quality: 1, messages: said('Yes two') },
      { trace_id: 'b1', task_id: 'q', quality: 0, messages: said('Nay one') },
      { trace_id: 'b2', task_id: 'q', quality: 0, messages: said('Nay two') },
    ]
    const { api } = await openOrganization(attempts)
    t.equal((await buildDataset(api, 'dpo')).row_count, 4)
    await correct(api, 'b2', LONG)
    const rows = await readJsonl(api, await buildDataset(api, 'dpo'))
    t.same(
      rows.map((row) => [row.provenance.trace_id, row.provenance.rejected?.trace_id]),
      [
        ['b2', 'b2'],
        ['g1', 'b1'],
        ['g2', 'b1'],
      ],
    )
  })

  t.test('are learned in sft in the place of the output, and not in kto', async (t) => {
    const { api, key } = await openOrganization(traces)
    const id = await correct(api, 'good', 'Hi!')
    await correct(api, 'bad', 'Better')
    const version = await buildDataset(api, 'sft')
    const rows = await readJsonl(api, version)
    const [good] = rows.filter(({ provenance }) => provenance.trace_id === 'good') as [Row]
    t.same(contents(good.messages), ['good', 'Hi!'])
    t.equal(annotationOf(good), id)
    t.equal(rows.filter((row) => annotationOf(row) !== null).length, 1)
    t.equal(version.dropped_counts['filtered.verdicts'], 1, 'nobody judged the bad one anew')
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
    const kto = await readJsonl(api, await buildDataset(api, 'kto'))
    t.same(
      kto
        .filter(({ provenance }) => ['good', 'bad'].includes(provenance.trace_id))
        .map((row) => [contents(row.completion), row.label, annotationOf(row)]),
      [
        [['Hello, bad'], false, undefined],
        [['Hello, good'], true, undefined],
      ],
    )
  })

  t.test('pass the filters on scores, which are of what was replaced', async (t) => {
    const { api } = await openOrganization([
      { trace_id: 'lifted', messages: hello('lifted'), quality: 0.1, ...LIFTED },
      { trace_id: 'low', messages: hello('low'), quality: 0.5 },
      { trace_id: 'high', messages: hello('high'), quality: 0.9 },
    ])
    await correct(api, 'lifted', 'Hi!')
    const build = async (type: 'sft' | 'dpo' | 'kto', filters: object, options: object = {}) => {
      const { dropped_counts, ...version } = await buildDataset(api, type, { filters, options })
      const rows = await readJsonl(api, { dropped_counts, ...version })
      return [rows.map(({ provenance }) => provenance.trace_id), dropped_counts]
    }
    const passing = { min_eval_score: 0.8 }
    t.same(await build('sft', passing), [['high', 'lifted'], { 'filtered.min_eval_score': 1 }])
    t.same(await build('sft', { eval_verdict: 'pass' }), [
      ['high', 'lifted'],
      { 'filtered.eval_verdict': 1 },
    ])
    t.same(await build('dpo', passing), [['lifted'], { 'filtered.min_eval_score': 1, no_task: 1 }])
    t.same(await build('kto', passing), [['high'], { 'filtered.min_eval_score': 2 }])
    t.same(await build('sft', { ...passing, verdicts: ['keep'] }), [
      ['high'],
      { 'filtered.min_eval_score': 1, 'filtered.verdicts': 1 },
    ])
    const without = { include_corrected: false }
    t.same(await build('sft', passing, without), [['high'], { 'filtered.min_eval_score': 2 }])
    t.same(await build('dpo', passing, without), [[], { 'filtered.min_eval_score': 2, no_task: 1 }])
  })

  t.test('leave a trace to be reviewed where they are left out', async (t) => {
    const seen = { messages: hello('seen'), quality: 0.5, reasons: LIFTED.reasons }
    const { api } = await openOrganization([
      { trace_id: 'seen', ...seen },
      { trace_id: 'plain', messages: hello('plain') },
    ])
    await correct(api, 'seen', 'Hi!')
    const idsOf = async (options: object, type: 'sft' | 'kto' = 'sft') => {
      const version = await buildDataset(api, type, { options })
      return (await readJsonl(api, version)).map(({ provenance }) => provenance.trace_id)
    }
    const reviewed = { include_needs_review: false }
    t.same(await idsOf(reviewed), ['plain', 'seen'])
    t.same(await idsOf({ ...reviewed, include_corrected: false }), ['plain'])
    t.same(await idsOf(reviewed, 'kto'), ['plain'])
    t.same(await idsOf({ include_corrected: false }), ['plain', 'seen'])
  })

  t.test('stay out of versions that do not include them', async (t) => {
    const { api } = await openOrganization([
      { trace_id: 'kept', messages: hello('kept') },
      { trace_id: 'lifted', messages: hello('lifted'), quality: 0, ...LIFTED },
    ])
    await correct(api, 'kept', 'Hi!')
    await correct(api, 'lifted', 'Hi there!')
    const options = { include_corrected: false }
    const sft = await buildDataset(api, 'sft', { options })
    const rows = await readJsonl(api, sft)
    t.same(
      rows.map(({ messages }) => contents(messages)),
      [['kept', 'Hello, kept']],
    )
    t.same(rows.map(annotationOf), [null])
    t.same(sft.dropped_counts, { unrepaired: 1 }, 'what was bad is not learned')
    const dpo = await buildDataset(api, 'dpo', { options })
    t.same([dpo.row_count, dpo.dropped_counts], [0, { no_task: 2 }])
  })

  t.test('lift a trace whose calls fit once these are repaired', async (t) => {
    const unfit = { rule: 9, code: 'compat.tool_renamed', subject: 'find', message: '' }
    const { api } = await openOrganization([
      {
        trace_id: 'unfit',
        messages: hello('unfit'),
        verdict: 'repair',
        reasons: [...LIFTED.reasons, unfit],
      },
    ])
    await correct(api, 'unfit', 'Hi!')
    t.same((await buildDataset(api, 'sft')).dropped_counts, { unrepaired: 1 })
  })

  t.test('are those of the build: the newest there was', async (t) => {
    const { api } = await openOrganization(traces)
    await correct(api, 'good', 'First')
    const id = await correct(api, 'good', 'Second')
    await api.post('/traces/good/annotations', { notes: 'corrects nothing' })
    const once = await buildDataset(api, 'dpo')
    const again = await buildDataset(api, 'dpo')
    t.equal(again.content_hash, once.content_hash)
    await correct(api, 'good', 'Third')
    const next = await buildVersion(api, once.dataset_id)
    t.not(next.content_hash, once.content_hash)
    const chosen = async (version: typeof once) =>
      (await readJsonl(api, version)).map((row) => [row.chosen[0]?.content, annotationOf(row)])
    t.same(await chosen(once), [['Second', id]])
    t.match(await chosen(next), [['Third', String]])
    t.equal((await api.delete('/traces/good')).status, 204)
    t.same(await chosen(once), [['Second', id]], 'a version keeps its rows')
    t.equal((await buildVersion(api, once.dataset_id)).row_count, 0)
  })
})

/** As a trace is judged that a person corrected and that would be dropped. */
const LIFTED = {
  verdict: 'repair',
  reasons: [
    { rule: 6, code: 'output.corrected', subject: 'annotation', message: '' },
    { rule: 8, code: 'score.bad', subject: 'quality', message: '' },
  ],
} as const

function said(content: string) {
  return [
    { role: 'user', content: 'Is it so?' },
    { role: 'assistant', content },
  ]
}
