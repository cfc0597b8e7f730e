import { createHash } from 'node:crypto'
import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
  readJsonl,
  readParquet,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'
import { readTrials } from '../../support/tau-bench.ts'
import { makeBuildHandler } from '../../../workers/datasets/build-dataset.ts'

t.test('building a dataset', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)

  t.test('trials of tau-bench give four good rows, six bad ones and not one pair', async (t) => {
    const traces = readTrials().map(({ task_id, reward, traj }, i) => {
      const trace_id = `trial-${i}`
      return { trace_id, task_id: String(task_id), messages: traj, quality: reward }
    })
    const { api, key } = await openOrganization(traces)
    const sft = await buildDataset(api, 'sft')
    t.equal(sft.row_count, 4)
    t.same(sft.dropped_counts, { 'filtered.verdicts': 6 })
    const kto = await buildDataset(api, 'kto')
    const labels = (await readJsonl(api, kto)).map(({ label }) => label)
    t.equal(labels.filter((label) => label).length, 4)
    t.equal(labels.filter((label) => !label).length, 6)
    const dpo = await buildDataset(api, 'dpo')
    t.equal(dpo.row_count, 0)
    t.equal(dpo.dropped_counts['user_divergence'], 4)
    for (const version of [sft, kto]) {
      const [jsonl, parquet] = [
        await readJsonl(api, version),
        await readParquet(service, key, version),
      ]
      t.same(withoutNulls(parquet), withoutNulls(jsonl))
    }
  })

  t.test('is counted in its traces from the beginning to the end', async (t) => {
    await service.sql.unsafe(`
      create table told (n serial, done bigint, total bigint, unit text, note text);
      create function tell() returns trigger language plpgsql as $$ begin
        insert into told (done, total, unit, note) values
          (new.progress_done, new.progress_total, new.progress_unit, new.progress_note);
        return null;
      end $$;
      create trigger tell after update on jobs for each row
        when (new.progress_unit is not null) execute function tell();`)
    const traces = Array.from({ length: 20 }, (_, n) => ({
      trace_id: `counted-${n}`,
      messages: hello(`${n}`),
    }))
    const { api } = await openOrganization(traces)
    await buildDataset(api, 'sft')
    const told = await service.sql<
      { done: number; total: number | null; unit: string; note: string }[]
    >`select done, total, unit, note from told order by n`
    await service.sql`drop trigger tell on jobs`
    t.same(new Set(told.map(({ unit }) => unit)), new Set(['traces']))
    const counted = told.filter(({ total }) => total !== null)
    t.same(new Set(counted.map(({ total }) => total)), new Set([20]))
    const done = counted.map(({ done }) => done)
    t.same(
      done,
      done.toSorted((a, b) => a - b),
    )
    t.match(
      counted.find(({ note }) => note === 'storing rows'),
      { done: 18 },
    )
    t.equal(done.at(-1), 20)
  })

  /** What is hard to write down: escapes, great numbers, number-like names, no text at all. */
  const awkward = (n: number): JudgedTrace => ({
    trace_id: `awkward-${n}`,
    task_id: 'awkward',
    session_id: `session ${n}`,
    quality: n % 2,
    tools: [
      {
        type: 'function',
        function: { name: 'f', parameters: { properties: { 10: {}, 9: {}, b: { const: 1e21 } } } },
      },
    ],
    messages: [
      { role: 'system', content: 'Sei genau: \u001b[1m "é" \\ \u2028 \u007f 😀' },
      { role: 'user', content: [{ type: 'text', text: `Question ${n >> 1}` }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: `id-${n}`,
            function: { name: 'f', arguments: { 10: 1e-7, 9: 1e21, a: [null, 0.1] } },
          },
        ],
      },
      { role: 'tool', tool_call_id: `id-${n}`, content: '' },
      { role: 'assistant', content: `Answer ${n}` },
    ],
  })

  t.test('JSONL and Parquet hold the same rows, in every format', async (t) => {
    const { api, key } = await openOrganization(Array.from({ length: 20 }, (_, n) => awkward(n)))
    const builds = [
      ['sft', { options: { format: 'openai' } }],
      ['sft', { options: { format: 'trl' }, split: { train: 0.5, validation: 0.2, test: 0.3 } }],
      ['sft', { options: { format: 'sharegpt' } }],
      ['kto', { options: { format: 'trl' } }],
      ['kto', { options: { format: 'openai', rows: 'call' } }],
      ['dpo', { options: { format: 'openai' } }],
      ['dpo', { options: { format: 'trl' } }],
    ] as const
    for (const [type, build] of builds) {
      const version = await buildDataset(api, type, build)
      const [jsonl, parquet] = [
        await readJsonl(api, version),
        await readParquet(service, key, version),
      ]
      t.ok(
        jsonl.length > 0,
        `${type} ${JSON.stringify(build)}: ${JSON.stringify(version.dropped_counts)}`,
      )
      t.equal(jsonl.length, version.row_count)
      t.same(withoutNulls(parquet), withoutNulls(jsonl))
    }
  })

  t.test('building again over the same data gives the same bytes', async (t) => {
    const traces = Array.from({ length: 60 }, (_, n) => ({
      trace_id: `t-${n}`,
      task_id: n % 3 === 0 ? null : `task ${n % 20}`,
      session_id: `session ${n % 17}`,
      parent_trace_id: n % 5 === 0 ? `t-${n + 1}` : null,
      messages: hello(`I am ${n % 40}`),
    }))
    const { api } = await openOrganization(traces)
    const recipes = [
      ['sft', { split: { train: 0.6, validation: 0.2, test: 0.2 } }],
      ['sft', { split: { train: 0.6, test: 0.4 }, options: { rows: 'call', dedupe: 'none' } }],
      ['kto', { split: { train: 0.5, test: 0.5 }, filters: { max_rows: 10 } }],
    ] as const
    for (const [type, recipe] of recipes) {
      const first = await buildDataset(api, type, recipe)
      const second = await buildVersion(api, first.dataset_id, recipe)
      t.equal(second.version_number, 2)
      t.ok(first.row_count > 5)
      t.equal(second.content_hash, first.content_hash)
      t.same(second.files, first.files)
      t.same(second.dropped_counts, first.dropped_counts)
    }
  })
})

t.test('a version of several files', async (t) => {
  const { service, openOrganization } = await openDatasetService(
    t,
    makeBuildHandler({ shardBytes: 4000 }),
  )
  const traces = Array.from({ length: 100 }, (_, n) => ({
    trace_id: `t-${n}`,
    task_id: `${n}`,
    messages: hello('é'.repeat(n)),
  }))
  const { api, key } = await openOrganization(traces)
  const version = await buildDataset(api, 'sft', { split: { train: 0.7, test: 0.3 } })
  const jsonl = version.files.filter(({ format }) => format === 'jsonl')

  t.test('all but the last file of a split have reached the size wanted', async (t) => {
    const train = jsonl.filter(({ split }) => split === 'train')
    t.ok(train.length > 3, `${train.length} files`)
    const sizes = train.map(({ size_bytes }) => size_bytes)
    t.ok(Math.max(...sizes) < 4600 && Math.min(...sizes.slice(0, -1)) >= 4000, String(sizes))
    t.equal(train[1]?.path, `data/train-00001-of-0000${train.length}.jsonl`)
  })

  t.test('taken together they are the version, in both formats', async (t) => {
    const rows = await readJsonl(api, version)
    t.equal(rows.length, 100)
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
    for (const split of ['train', 'test', undefined]) {
      const { headers, body } = await api.get(
        `${pathOf(version)}/export${split ? `?split=${split}` : ''}`,
      )
      const hash = createHash('sha256').update(body).digest('hex')
      t.equal(headers['etag'], `"${hash}"`)
    }
    const one = await api.get(`${pathOf(version)}/export?split=train&shard=2`)
    t.equal(one.headers['etag'], `"${jsonl[2]?.sha256}"`)
    t.equal((await api.get(`${pathOf(version)}/export?shard=0`)).status, 400)
  })

  t.test('a preview reads over the ends of files', async (t) => {
    const { body } = await api.get(`${pathOf(version)}/rows?limit=500`)
    const rows = await readJsonl(api, version)
    const shown = (body.rows as Row[]).map(({ messages, provenance }) => ({ messages, provenance }))
    t.same(
      shown,
      rows.map(({ messages, provenance }) => ({ messages, provenance })),
    )
  })
})

t.test('files of one version have the same columns, whatever single rows hold', async (t) => {
  const { service, openOrganization } = await openDatasetService(
    t,
    makeBuildHandler({ shardBytes: 4000 }),
  )
  // Only the last row has a refusal and parts, when files are full and converted already.
  const rare = [
    { role: 'user', content: [{ type: 'text', text: 'Help' }] },
    { role: 'assistant', content: null, refusal: 'No.' },
  ]
  const traces = Array.from({ length: 60 }, (_, n) => ({
    trace_id: `t-${String(n).padStart(3, '0')}`,
    messages: n === 59 ? rare : hello(`${n}`),
  }))
  const { api, key } = await openOrganization(traces)
  const version = await buildDataset(api, 'sft')
  const train = version.files.filter(
    ({ split, format }) => split === 'train' && format === 'parquet',
  )
  t.ok(train.length > 3, `${train.length} files`)
  const parquet = await readParquet(service, key, version)
  t.equal(parquet.length, 60)
  for (const { messages } of parquet) t.ok(messages.every((message) => 'refusal' in message))
  t.same(withoutNulls(parquet), withoutNulls(await readJsonl(api, version)))
  const again = await buildVersion(api, version.dataset_id)
  t.same(again.files, version.files)
})

t.test('files that lose rows after they were full', async (t) => {
  const { service, openOrganization } = await openDatasetService(
    t,
    makeBuildHandler({ shardBytes: 4000 }),
  )
  // The first forty have better copies that come much later: whole files of them go.
  const traces = Array.from({ length: 100 }, (_, n) => ({
    trace_id: `t-${String(n).padStart(3, '0')}`,
    quality: n < 50 ? 0.8 : 0.9,
    messages: hello(n < 50 || n >= 90 ? `${n}` : `${n - 50}`),
  }))
  const { api, key } = await openOrganization(traces)
  const version = await buildDataset(api, 'sft')
  const rows = await readJsonl(api, version)
  const expected = traces.slice(40).map(({ trace_id }) => trace_id)
  t.same(
    rows.map(({ provenance }) => provenance.trace_id),
    expected,
  )
  t.same(version.dropped_counts, { duplicate: 40 })
  t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
  const again = await buildVersion(api, version.dataset_id)
  t.same(again.files, version.files)
  t.same(
    version.files
      .filter(({ format, split }) => format === 'jsonl' && split === 'train')
      .map(({ shard }, at) => shard - at),
    version.files
      .filter(({ format, split }) => format === 'parquet' && split === 'train')
      .map(() => 0),
  )
  const { body } = await api.get(`${pathOf(version)}/rows?limit=500`)
  t.same(
    (body.rows as Row[]).map(({ provenance }) => provenance.trace_id),
    expected,
  )
})
