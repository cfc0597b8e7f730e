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
import { jaccard, openTexts } from '../../../ops/bench/near-texts.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'

const near = { options: { dedupe: 'near' } }
const halves = { split: { train: 0.5, test: 0.5 } }

t.test('near-duplicates in a build', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)

  t.test('the better of two near rows stays, and is named with the other', async (t) => {
    const { text } = openTexts(1)
    const said = text(60)
    const { api, key } = await openOrganization([
      talk('a', `${said} please`, { quality: 0.8 }),
      talk('b', `${said} thanks`, { quality: 0.9 }),
      talk('c', text(60)),
      talk('d', `${said} thanks`, { quality: 0.85 }),
    ])
    const version = await buildDataset(api, 'sft', near)
    t.same(version.dropped_counts, { duplicate: 1, near_duplicate: 1 })
    const rows = await readJsonl(api, version)
    t.same(idsOf(rows), ['b', 'c'])
    t.same(withoutNulls(await readParquet(service, key, version)), withoutNulls(rows))
    const page = await api.get(`${pathOf(version)}/rows?limit=1`)
    const [sample, ...others] = page.body.near_duplicates
    t.same(others, [])
    t.match(sample, {
      row: { trace_id: 'a', split: 'train' },
      kept: { trace_id: 'b', split: 'train', ordinal: 0 },
    })
    t.ok(sample.similarity >= 0.8 && sample.similarity < 1, String(sample.similarity))
    const next = await api.get(`${pathOf(version)}/rows?cursor=${page.body.next_cursor}`)
    t.same(next.body.near_duplicates, [], 'they are on the first page')
    t.same((await buildDataset(api, 'sft')).dropped_counts, { duplicate: 1 }, 'unless asked for')
  })

  t.test('rows of the version before stay when better ones come', async (t) => {
    const said = openTexts(2).text(80)
    const { api, ...org } = await openOrganization([talk('b', said, { quality: 0.8 })])
    const first = await buildDataset(api, 'sft', near)
    await storeJudged(service.sql, org, [talk('a', `${said} again`, { quality: 1 })])
    const second = await buildVersion(api, first.dataset_id, near)
    t.same(second.dropped_counts, { near_duplicate: 1 })
    t.equal(second.content_hash, first.content_hash)
    t.same(idsOf(await readJsonl(api, await buildDataset(api, 'sft', near))), ['a'])
  })

  t.test('traces give the same version in whatever order they came', async (t) => {
    const { random, pair } = openTexts(3)
    const traces = Array.from({ length: 60 }, (_, n) => pair(150, 1 + (n % 3))).flatMap(
      ({ one, other }, n) => [talk(`${n}`, one), talk(`${n} again`, other)],
    )
    const recipe = { ...near, ...halves, filters: { max_rows: 70 } }
    const versions = await Promise.all(
      [traces, traces.toReversed(), traces.toSorted(() => random.next() - 0.5)].map(async (given) =>
        buildDataset((await openOrganization(given)).api, 'sft', recipe),
      ),
    )
    t.equal(new Set(versions.map(({ content_hash }) => content_hash)).size, 1)
    const [counts, ...others] = versions.map(({ dropped_counts }) => dropped_counts)
    for (const other of others) t.same(other, counts)
    t.ok((counts?.['near_duplicate'] ?? 0) > 5 && (counts?.['split.near_duplicate'] ?? 0) > 5)
  })

  t.test('no row of the test split is near to one that is trained on', async (t) => {
    const { pair } = openTexts(4)
    const pairs = Array.from({ length: 80 }, () => pair(200, 1))
    const traces = pairs.flatMap(({ one, other }, n) => [talk(`${n}`, one), talk(`${n}b`, other)])
    const { api } = await openOrganization(traces)
    const guarded = await buildDataset(api, 'sft', halves)
    const count = guarded.dropped_counts['split.near_duplicate'] ?? 0
    t.ok(count > 20, `${count} rows`)
    t.same(guarded.dropped_counts, { 'split.near_duplicate': count })
    const splitOf = new Map<string, string>()
    for (const split of ['train', 'test']) {
      for (const id of idsOf(await readJsonl(api, guarded, split))) splitOf.set(id, split)
    }
    for (const [n, planted] of pairs.entries()) {
      const splits = [`${n}`, `${n}b`].flatMap((id) => splitOf.get(id) ?? [])
      if (jaccard(planted) >= 0.9) t.equal(new Set(splits).size, 1)
    }
    const open = await buildDataset(api, 'sft', { ...halves, options: { dedupe: 'none' } })
    t.same(open.dropped_counts, {}, 'unless duplicates are welcome')
  })

  t.test('no row of a version is as alike as .9 to one of another split', async (t) => {
    const { random, text, edited } = openTexts(7)
    const families = Array.from({ length: 12 }, () => text(150))
    const traces = Array.from({ length: 120 }, (_, n) => {
      const said = families[random.below(families.length)] as string
      return talk(`${n}`, edited(said, random.below(6)), { quality: 0.8 + random.below(3) / 20 })
    })
    const { api } = await openOrganization(traces)
    const split = { train: 0.5, validation: 0.25, test: 0.25 }
    for (const dedupe of ['exact', 'near', 'none']) {
      const version = await buildDataset(api, 'sft', { split, options: { dedupe } })
      const alike = alikeAcross(
        await Promise.all(Object.keys(split).map((name) => readJsonl(api, version, name))),
      )
      if (dedupe === 'none') t.ok(alike > 15, `${alike} pairs to be found`)
      else t.equal(alike, 0, dedupe)
    }
  })

  t.test('calls of one trace, whose prompts grow, all give their row', async (t) => {
    const { text } = openTexts(5)
    const said = text(200)
    const turns = Array.from({ length: 4 }, (_, n) => `${text(3)} ${n}`)
    const calls = turns.map((turn, n) => ({
      rendered_input: [
        { role: 'user', content: said },
        ...turns.slice(0, n).flatMap((before) => [
          { role: 'assistant', content: before },
          { role: 'user', content: 'on' },
        ]),
      ],
      output: { role: 'assistant', content: turn },
    }))
    const { api } = await openOrganization([
      { trace_id: 'grows', llm_calls: calls },
      {
        trace_id: 'grows too',
        llm_calls: calls
          .slice(0, 1)
          .map((call) => ({ ...call, output: { role: 'assistant', content: `${turns[0]} now` } })),
      },
    ])
    const version = await buildDataset(api, 'sft', { options: { dedupe: 'near', rows: 'call' } })
    t.same(version.dropped_counts, { near_duplicate: 1 })
    t.same(idsOf(await readJsonl(api, version)), Array(4).fill('grows'))
  })

  t.test('kto rows are compared under one label, pairs by their turns', async (t) => {
    const { text } = openTexts(6)
    const [said, answer] = [text(10), text(60)]
    const trace = (trace_id: string, quality: number, more: string, task = trace_id) => ({
      trace_id,
      quality,
      task_id: task,
      messages: [
        { role: 'user', content: said },
        { role: 'assistant', content: `${answer} ${more}` },
      ],
    })
    const { api } = await openOrganization([
      trace('good', 1, 'yes'),
      trace('good too', 1, 'so'),
      trace('bad', 0, 'no'),
    ])
    const kto = await buildDataset(api, 'kto', near)
    t.same(kto.dropped_counts, { near_duplicate: 1 })
    t.same(idsOf(await readJsonl(api, kto)), ['bad', 'good'])

    // Each task asks something else, and is answered well and badly in almost the same words.
    const bad = text(60)
    const attempts = ['x', 'y'].flatMap((task) => {
      const asked = { role: 'user', content: text(40) }
      const turn = (content: string) => [
        asked,
        { role: 'assistant', content: `${content} ${task}` },
      ]
      return [
        { ...trace(`${task} won`, 1, '', task), messages: turn(answer) },
        { ...trace(`${task} lost`, 0, '', task), messages: turn(bad) },
      ]
    })
    const { api: paired } = await openOrganization(attempts)
    t.same((await buildDataset(paired, 'dpo')).dropped_counts, {})
    const dpo = await buildDataset(paired, 'dpo', near)
    t.same(dpo.dropped_counts, { near_duplicate: 1 })
    t.same(idsOf(await readJsonl(paired, dpo)), ['x won'])
  })
})

function talk(trace_id: string, content: string, more: object = {}): JudgedTrace {
  const answer = { role: 'assistant', content: 'Done' }
  return { trace_id, messages: [{ role: 'user', content }, answer], ...more }
}

/** How many pairs of rows of two splits have an exact similarity of .9 or more: each is compared with each. */
function alikeAcross(splits: readonly (readonly Row[])[]) {
  const texts = splits.map((rows) =>
    rows.map(({ messages }) => messages.map(({ content }) => content).join(' ')),
  )
  const others = texts.map((_, i) => texts.slice(i + 1).flat())
  return texts
    .flatMap((own, i) => own.flatMap((one) => (others[i] ?? []).map((other) => ({ one, other }))))
    .filter((pair) => jaccard(pair) >= 0.9).length
}

function idsOf(rows: readonly Row[]) {
  return rows.map(({ provenance }) => provenance.trace_id)
}
