import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
  readJsonl,
  readParquet,
  tryBuild,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'

const KEY = `sk-${'q7Zr2mXw9LpV4tKc8HbN'.repeat(2)}`
const FIND = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } }

t.test('a build with redaction', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)

  t.test('has no value left in its files, and says how many there were', async (t) => {
    const { api, key } = await openOrganization([
      { ...traceOf('t1', 'ann@example.com'), task_id: 'bob@example.com' },
      traceOf('t2', 'nobody'),
      traceOf('t3', 'carl@example.com', 'TCK-17'),
    ])
    const settings = {
      patterns: [{ name: 'ticket', pattern: 'TCK-\\d+' }],
      keep: ['help@example.com'],
    }
    await api.put('/redaction-settings', settings)
    const options = { redact: ['default', 'custom'] }
    const version = await buildDataset(api, 'sft', { options })
    t.match(version, {
      row_count: 3,
      options: { redact: ['private_key', 'jwt'] },
      redaction: {
        ruleset: /^[0-9a-f]{64}$/,
        counts: { api_key: 3, custom: 1, email: 7 },
        rows: 3,
      },
    })
    const rows = await readJsonl(api, version)
    const said = rows.map(({ messages, tools }) => JSON.stringify([messages, tools]))
    for (const text of said) t.notMatch(text, /(ann|carl)@|TCK-|sk-/)
    t.match(said[0], /\[EMAIL_1\] or help@example.com/)
    t.match(said[2], /\[CUSTOM_1\]/)
    t.equal(rows[0]?.provenance['task_id' as never], 'bob@example.com', 'provenance stays')
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
  })

  t.test('gives the same bytes whatever the settings became', async (t) => {
    const { api } = await openOrganization([traceOf('t1', 'ann@example.com')])
    const build = { options: { redact: ['email', 'api_key'] } }
    const first = await buildDataset(api, 'sft', build)
    const second = await buildVersion(api, first.dataset_id, build)
    t.equal(second.content_hash, first.content_hash)
    t.match((await api.get(pathOf(first))).body.redaction, (second as Redacted).redaction)
    await api.put('/redaction-settings', { keep: ['ann@example.com'] })
    const third = await buildVersion(api, first.dataset_id, build)
    t.not(third.content_hash, first.content_hash)
    t.not((third as Redacted).redaction?.ruleset, (first as Redacted).redaction?.ruleset)
    const [stored] = await service.sql`
      select recipe->'redaction' as redaction from dataset_versions where id = ${first.id}`
    t.match(stored?.['redaction'], { keep: [], patterns: [] })
  })

  t.test('counts what is in the rows that stay', async (t) => {
    const same = [
      { role: 'user', content: 'ann@example.com' },
      { role: 'assistant', content: 'Hello' },
    ]
    const { api } = await openOrganization([
      { trace_id: 't1', messages: same },
      { trace_id: 't2', messages: same.with(0, { role: 'user', content: 'bob@example.com' }) },
    ])
    const version = await buildDataset(api, 'sft', { options: { redact: ['email'] } })
    t.match(version, { row_count: 1, dropped_counts: { duplicate: 1 } })
    t.match(version, { redaction: { counts: { email: 1 }, rows: 1 } })
    const whole = await buildDataset(api, 'sft')
    t.match(whole, { row_count: 2, redaction: null })
  })

  t.test('fails where values are left in more than one row of 1,000', async (t) => {
    const { api } = await openOrganization([traceOf('t1', 'ann@example.com')])
    const { body: dataset } = await api.post('/datasets', { name: 'left', dataset_type: 'sft' })
    const build = { options: { redact: ['email'] } }
    const failed = await tryBuild(api, dataset.id, build)
    t.match(failed, { status: 'failed', error: { code: 'redaction_incomplete' } })
    t.match(failed.error.message, /^1 of 1 rows still held values after redaction/)
    const many = Array.from({ length: 1100 }, (_, i): JudgedTrace => ({ trace_id: `m${i}` }))
    const { api: other } = await openOrganization([
      traceOf('t1', 'ann@example.com'),
      ...many.map((trace, i) => ({ ...trace, messages: hello(i) })),
    ])
    const version = await buildDataset(other, 'sft', build)
    t.match(version, { row_count: 1100, dropped_counts: { 'redact.residual': 1 } })
  })

  t.test('makes pairs and completions without values', async (t) => {
    const messages = (answer: string) => [
      { role: 'user', content: 'I am ann@example.com' },
      { role: 'assistant', content: answer },
    ]
    const { api } = await openOrganization([
      { trace_id: 'a', task_id: 'x', quality: 1, messages: messages('Hello ann@example.com!') },
      { trace_id: 'b', task_id: 'x', quality: 0, messages: messages('Hi bob@example.com, dear.') },
    ])
    const options = { redact: ['email'] }
    const pairs = await buildDataset(api, 'dpo', { options })
    t.match(await readJsonl(api, pairs), [
      {
        prompt: [{ content: 'I am [EMAIL_1]' }],
        chosen: [{ content: 'Hello [EMAIL_1]!' }],
        rejected: [{ content: 'Hi [EMAIL_2], dear.' }],
      },
    ])
    t.match(pairs, { redaction: { counts: { email: 3 }, rows: 1 } })
    const single = await buildDataset(api, 'kto', { options })
    t.match(single, { row_count: 2, redaction: { counts: { email: 4 }, rows: 2 } })
  })
})

/** The row that `who` is told three times in: in words, in arguments and in a result. */
function traceOf(trace_id: string, who: string, ticket = 'none'): JudgedTrace {
  const call = { name: 'find', arguments: JSON.stringify({ who, ticket }) }
  return {
    trace_id,
    tools: [FIND],
    messages: [
      { role: 'user', content: `I am ${who} or help@example.com, with ${KEY}` },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: call }],
      },
      { role: 'tool', tool_call_id: 'a', content: JSON.stringify({ found: 1 }) },
      { role: 'assistant', content: `Hello ${trace_id} ${who.replace('nobody', 'a@b.de')}` },
    ],
  }
}

function hello(i: number) {
  return [
    { role: 'user', content: `Hello ${i}` },
    { role: 'assistant', content: 'Hi' },
  ]
}

interface Redacted {
  readonly redaction?: { readonly ruleset: string }
}
