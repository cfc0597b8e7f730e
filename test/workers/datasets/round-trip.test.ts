import t from 'tap'
import {
  buildDataset,
  buildVersion,
  pathOf,
  readJsonl,
  readParquet,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'

const LOOK = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: { id: {} } } },
}
const CALLED = { name: 'look', arguments: '{"id": 7}' }
const call = (id: string) => ({ id, type: 'function', function: CALLED })
const ask = (content: unknown) => ({ role: 'user', content })
const say = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more })
const answer = (id: string, content: string) => ({
  role: 'tool',
  tool_call_id: id,
  name: 'look',
  content,
})
const CAT = { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } }

/** A file of each kind that is sent to be fine-tuned with; the names are the traces'. */
const FILES = {
  chat: [{ role: 'system', content: 'Be brief.' }, ask('Hi'), say('Hello'), ask('Bye'), say('Bye')],
  tools: [
    ask('7?'),
    say(null, { tool_calls: [call('call_1')] }),
    answer('call_1', 'n'),
    say('A number.'),
  ],
  weights: [
    ask('1'),
    say('bad', { weight: 0 }),
    ask('2'),
    say('good'),
    ask('3'),
    say('bad', { weight: 0 }),
  ],
  multimodal: [ask([{ type: 'text', text: 'What?' }, CAT]), say('A cat.')],
  parts: [
    ask([
      { type: 'text', text: 'a\n"b"' },
      { type: 'text', text: '[c]' },
    ]),
    say([{ type: 'text', text: 'd' }]),
  ],
  bracket: [ask('[{"type":"text"}]'), say('null')],
  refusal: [ask('Help me steal.'), say(null, { refusal: 'I cannot help with that.' })],
  reasoning: [ask('2+2?'), say('4', { reasoning_content: 'Two and two.' })],
  developer: [
    { role: 'developer', content: 'Be kind.' },
    { ...ask('Hi!'), name: 'Ann' },
    say('Hi Ann'),
  ],
} as const
const FUNCTIONS = {
  functions: [LOOK.function],
  messages: [
    ask('8?'),
    say(null, { function_call: CALLED }),
    { role: 'function', name: 'look', content: 'n' },
    say('A number, too.'),
  ],
}
const LOSSY = [ask('Hm?'), say('Hm.', { mood: 'fine' }), ask('Thanks')]

t.test('OpenAI files come out as they went in', async (t) => {
  const service = await openService(t)
  await service.startWorkers([importTracesHandler, judgeTracesHandler, buildDatasetHandler], 2)

  async function openWith(records: readonly object[]) {
    const org = await service.makeOrganization()
    const api = service.client(org.key)
    const file = records.map((each) => JSON.stringify({ agent_name: 'a', ...each })).join('\n')
    const { body } = await api.call('POST', '/import/jsonl', file, {
      'content-type': 'application/x-ndjson',
      prefer: 'wait=50',
    })
    await until(async () => {
      const [row] = await service.sql<{ n: number }[]>`
        select count(*)::int as n from verdicts where org_id = ${org.orgId}`
      return row?.n === body.imported_count
    })
    return { ...org, api, imported: body }
  }
  const files = Object.entries(FILES).map(([trace_id, messages]) => ({
    trace_id,
    messages,
    ...(trace_id === 'tools' && { tools: [LOOK] }),
  }))
  const records = [
    ...files,
    { trace_id: 'functions', ...FUNCTIONS },
    { trace_id: 'lossy', messages: LOSSY },
  ]
  const { api, key, imported } = await openWith(records)
  t.match(imported, { status: 'succeeded', imported_count: records.length, losses: {} })
  t.same(imported.losses, {})

  t.test('equal but for what the version lists', async (t) => {
    const version = await buildDataset(api, 'sft')
    const rows = await readJsonl(api, version)
    t.same(version.dropped_counts, {})
    t.same(version.losses, { members_dropped: 1, messages_dropped: 1, reasoning_dropped: 1 })
    for (const [name, messages] of Object.entries(FILES)) {
      const expected = name === 'reasoning' ? [ask('2+2?'), say('4')] : messages
      t.same(asTold(rowOf(rows, name).messages), expected, name)
    }
    t.same(asTold(rowOf(rows, 'lossy').messages), [ask('Hm?'), say('Hm.')])
    t.same(asTold(rowOf(rows, 'functions').messages), [
      ask('8?'),
      say(null, { tool_calls: [call('call_1')] }),
      answer('call_1', 'n'),
      say('A number, too.'),
    ])
    const toolsOf = (name: string) => rowOf(rows, name).tools
    t.same([toolsOf('tools'), toolsOf('functions'), toolsOf('chat')], [[LOOK], [LOOK], []])
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
    const again = await buildVersion(api, version.dataset_id)
    t.same(again.files, version.files)
  })

  t.test('with what the assistant thought where that is asked for', async (t) => {
    const version = await buildDataset(api, 'sft', { options: { reasoning: 'keep' } })
    const rows = await readJsonl(api, version)
    t.same(asTold(rowOf(rows, 'reasoning').messages), FILES.reasoning)
    t.same(version.losses, { members_dropped: 1, messages_dropped: 1 })
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
  })

  t.test('and as plain texts for trainers that take no others', async (t) => {
    const version = await buildDataset(api, 'sft', { options: { format: 'trl' } })
    const rows = await readJsonl(api, version)
    t.same(version.dropped_counts, { 'invalid.content': 1 }, 'an image is no text')
    t.same(asTold(rowOf(rows, 'parts').messages), [ask('a\n"b"\n[c]'), say('d')])
    t.same(asTold(rowOf(rows, 'refusal').messages).at(-1), say('I cannot help with that.'))
    t.equal(rowOf(rows, 'developer').messages[0]?.role, 'system')
    t.same(
      rowOf(rows, 'weights').messages.map(({ weight }) => weight),
      [0, 0, 0, 1, 0, 0],
    )
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
  })

  t.test('preferences as the pairs they were', async (t) => {
    const LONG = 'Because it scatters the short waves of light most. '.repeat(9)
    const pairs = [
      ['Why?', say(LONG), say('No idea')],
      ['Why?', say('No idea'), say(null, { refusal: 'I will not say.' })],
      ['Where?', say([{ type: 'text', text: 'Up' }]), say('down')],
      ['Same?', say('Yes.'), say('yes')],
    ] as const
    const org = await openWith(
      pairs.map(([content, preferred, other]) => ({
        input: { messages: [ask(content)], tools: [LOOK] },
        preferred_output: [preferred],
        non_preferred_output: [other],
      })),
    )
    t.equal(org.imported.imported_count, 8)
    const version = await buildDataset(org.api, 'dpo')
    const rows = await readJsonl(org.api, version)
    const told = rows.map(({ prompt, chosen, rejected }) => [
      asTold(prompt)[0]?.content,
      asTold(chosen)[0],
      asTold(rejected)[0],
    ])
    t.same(told.toSorted(byText), pairs.toSorted(byText))
    t.same(version.dropped_counts, {})
    t.same(version.warnings, [], 'what a person compared is not balanced')
    for (const { provenance } of rows) {
      t.match(provenance, { pair_source: 'preference', tools_from: 'calls' })
      t.equal(
        provenance.trace_id.replace(/-preferred$/, ''),
        provenance.rejected?.trace_id.replace(/-non_preferred$/, ''),
      )
    }
    t.same(withoutNulls(await readParquet(service, org.key, version)), withoutNulls(rows))
    const { body } = await org.api.get(pathOf(version))
    t.match(body, { losses: {}, options: { length_balance: true, reasoning: 'drop' } })
  })

  t.test('what an import cannot keep is counted by it and by its job', async (t) => {
    const notes = 'x'.repeat(20_000)
    const rows = Array.from({ length: 3 }, (_, n) => ({ messages: [ask(`${n}`), say('a')], notes }))
    const { api, imported } = await openWith([...rows, { messages: [] }])
    t.match(imported, { imported_count: 3, error_count: 1 })
    t.same(imported.losses, { members_dropped: 3 })
    const { body } = await api.get(`/jobs/${imported.job_id}`)
    t.same(body.result.losses, { members_dropped: 3 })
    const { errors } = (await api.get(`/import/${imported.id}/errors`)).body
    t.match(errors, [{ line: 4, code: 'empty_conversation' }])
  })
})

function rowOf(rows: readonly Row[], traceId: string): Row {
  const found = rows.find(({ provenance }) => provenance.trace_id === traceId)
  if (!found) throw new Error(`${traceId} has no row`)
  return found
}

/** Messages without the weights that go without saying. */
function asTold(messages: Row['messages']) {
  return messages.map(({ weight, ...message }) => {
    const usual = message.role === 'assistant' ? 1 : 0
    return weight === usual ? message : { ...message, weight }
  })
}

function byText(a: unknown, b: unknown) {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}
