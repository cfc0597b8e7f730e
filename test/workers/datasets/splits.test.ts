import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  readJsonl,
} from '../../support/built-dataset.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'

t.test('the splits of a dataset', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)

  t.test('no unit is in two splits, and no row changes its split when traces come', async (t) => {
    const random = seeded(7)
    const trace = (n: number) => ({
      trace_id: `t-${n}`,
      task_id: random() < 0.5 ? `task ${Math.floor(random() * 40)}` : null,
      session_id: random() < 0.7 ? `session ${Math.floor(random() * 60)}` : null,
      parent_trace_id: n > 0 && random() < 0.3 ? `t-${Math.floor(random() * n)}` : null,
      messages: hello(`I am ${Math.floor(random() * 150)}`),
    })
    const traces = Array.from({ length: 300 }, (_, n) => trace(n))
    const { api, ...org } = await openOrganization(traces.slice(0, 150))
    const recipe = {
      split: { train: 0.6, validation: 0.1, test: 0.3 },
      options: { dedupe: 'none' },
    }
    const first = await buildDataset(api, 'sft', recipe)
    await storeJudged(service.sql, org, traces.slice(150))
    const second = await buildVersion(api, first.dataset_id, recipe)
    const [before, after] = [await splitsOf(first), await splitsOf(second)]
    t.ok((second.dropped_counts['split.bridging'] ?? 0) > 0, 'some traces bridge two splits')
    t.ok(before.size > 60 && after.size > before.size, `${before.size} and ${after.size} rows`)
    for (const [id, split] of before) if (after.has(id)) t.equal(after.get(id), split, id)
    for (const link of ['task_id', 'session_id', 'source', 'content'] as const) {
      const sides = new Map<string, Set<string>>()
      for (const one of traces.filter(({ trace_id }) => after.has(trace_id))) {
        for (const key of linksOf(one, link)) {
          sides.set(key, (sides.get(key) ?? new Set()).add(after.get(one.trace_id) as string))
        }
      }
      t.ok(sides.size > 20)
      t.same(
        [...sides].filter(([, splits]) => splits.size > 1),
        [],
        `a ${link} is in two splits`,
      )
    }

    async function splitsOf(version: typeof first) {
      const splits = new Map<string, string>()
      for (const split of ['train', 'validation', 'test']) {
        for (const { provenance } of await readJsonl(api, version, split))
          splits.set(provenance.trace_id, split)
      }
      return splits
    }
    function linksOf(
      one: (typeof traces)[number],
      link: 'task_id' | 'session_id' | 'source' | 'content',
    ) {
      if (link === 'content') return [one.messages[0]?.content as string]
      if (link === 'source') return [one.trace_id, one.parent_trace_id].filter((id) => id !== null)
      return one[link] === null ? [] : [one[link]]
    }
  })

  t.test(
    'a trace that would tie two splits of the version before together is left out',
    async (t) => {
      // With half and half, these two tasks are on different sides: one of many pairs is.
      const { api, ...org } = await openOrganization(
        Array.from({ length: 20 }, (_, n) => ({
          trace_id: `t-${n}`,
          task_id: `task ${n}`,
          session_id: `session ${n}`,
          messages: hello(`${n}`),
        })),
      )
      const recipe = { split: { train: 0.5, test: 0.5 } }
      const first = await buildDataset(api, 'sft', recipe)
      const [train] = await readJsonl(api, first, 'train')
      const [test] = await readJsonl(api, first, 'test')
      const sessionOf = (id: string | undefined) => id?.replace('t-', 'session ')
      const taskOf = (id: string | undefined) => id?.replace('t-', 'task ')
      const [one, other] = [train?.provenance.trace_id, test?.provenance.trace_id]
      await storeJudged(service.sql, org, [
        {
          trace_id: 'a-bridge',
          task_id: taskOf(one),
          session_id: sessionOf(other),
          messages: hello('a'),
        },
        {
          trace_id: 'z-bridge',
          task_id: taskOf(other),
          session_id: sessionOf(one),
          messages: hello('z'),
        },
      ])
      const second = await buildVersion(api, first.dataset_id, recipe)
      t.same(second.dropped_counts, { 'split.bridging': 2 })
      t.equal(second.content_hash, first.content_hash)
    },
  )

  t.test('replays are in the split of the first original, whatever it came from', async (t) => {
    const origins = [
      () => ({}),
      (id: string) => ({ session_id: `session of ${id}` }),
      (id: string) => ({ parent_trace_id: `parent of ${id}` }),
      (id: string) => ({ parent_trace_id: `parent of ${id}`, session_id: `session of ${id}` }),
      () => ({ parent_trace_id: 'parent' }),
      () => ({ parent_trace_id: 'parent in a session' }),
    ]
    const again = (trace_id: string, original_trace_id: string) => ({
      trace_id,
      messages: hello(trace_id),
      source_type: 'replayed',
      parent_trace_id: original_trace_id,
      metadata: { original_trace_id },
    })
    const lines = Array.from({ length: 60 }, (_, n) => {
      const id = `t-${n}`
      const original = { trace_id: id, messages: hello(id), ...origins[n % origins.length]?.(id) }
      return [original, again(`${id} again`, id), again(`${id} once more`, `${id} again`)]
    })
    const { api } = await openOrganization([
      { trace_id: 'parent', messages: hello('parent') },
      { trace_id: 'parent in a session', session_id: 'above', messages: hello('above') },
      ...lines.flat(),
    ])
    const version = await buildDataset(api, 'sft', { split: { train: 0.5, test: 0.5 } })
    t.same(version.dropped_counts, {}, 'none bridges two splits')
    const train = await readJsonl(api, version, 'train')
    const ids = new Set(train.map(({ provenance }) => provenance.trace_id))
    t.ok(ids.size > 30 && ids.size < 150, `${ids.size} rows`)
    for (const line of lines) {
      const sides = new Set(line.map(({ trace_id }) => ids.has(trace_id)))
      t.equal(sides.size, 1, JSON.stringify(line[0]))
    }
  })

  t.test('of equal rows the best stays, and without deduplication all in one split', async (t) => {
    const same = (trace_id: string, quality: number, id: string) => ({
      trace_id,
      quality,
      session_id: trace_id,
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: id, content: 'ok' },
        { role: 'assistant', content: 'Done' },
      ],
    })
    const traces = [
      same('a', 0.8, 'x'),
      same('b', 0.9, 'y'),
      same('c', 0.9, 'z'),
      same('d', 0.7, 'w'),
    ]
    const { api } = await openOrganization(traces)
    const once = await buildDataset(api, 'sft')
    t.same(
      (await readJsonl(api, once)).map(({ provenance }) => provenance.trace_id),
      ['b'],
    )
    t.same(once.dropped_counts, { duplicate: 3 })
    const all = await buildDataset(api, 'sft', {
      options: { dedupe: 'none' },
      split: { train: 0.5, test: 0.5 },
    })
    t.same(
      Object.values(all.split_counts).filter((n) => n > 0),
      [all.row_count],
    )
    t.equal(all.row_count + (all.dropped_counts['split.bridging'] ?? 0), 4)
  })
})

function seeded(seed: number) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x8000_0000
  }
}
