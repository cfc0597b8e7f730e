import t from 'tap'
import { buildDataset, openDatasetService, readJsonl } from '../../support/built-dataset.ts'

t.test('the pairs of a dataset', async (t) => {
  const { openOrganization } = await openDatasetService(t)

  t.test('pairs are as many as an independent count over the stored traces', async (t) => {
    const random = seeded(11)
    const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
    const turns = [
      'yes it is so',
      'no it is not',
      'maybe it is so',
      'Yes, it is so!',
      'ask again later on',
    ]
    const traces = Array.from({ length: 120 }, (_, n) => ({
      trace_id: `t-${String(n).padStart(3, '0')}`,
      task_id: `task ${n % 12}`,
      quality: pick([0, 0.3, 0.5, 0.85, 1]),
      messages: [
        { role: 'system', content: pick(['Be brief', 'Be kind']) },
        { role: 'user', content: `Is it so? ${n % 12}` },
        { role: 'assistant', content: pick(turns) },
        { role: 'user', content: pick(['Really?', 'Sure?']) },
        { role: 'assistant', content: pick(turns) },
      ],
    }))
    const { api } = await openOrganization(traces)
    const version = await buildDataset(api, 'dpo')
    const expected = balance(findPairs(traces))
    t.ok(expected.count > 10, `${expected.count} pairs`)
    t.equal(version.row_count, expected.count)
    t.equal(version.warnings.length, Math.abs(expected.mean) > 0.05 ? 1 : 0)
    const rows = await readJsonl(api, version)
    t.ok(rows.every(({ prompt }) => prompt.every(({ weight }) => weight === 0)))
    for (const { provenance, chosen, rejected } of rows) {
      const qualityOf = (id: string | undefined) =>
        traces.find(({ trace_id }) => trace_id === id)?.quality
      t.ok((qualityOf(provenance.trace_id) ?? 0) >= 0.8)
      t.ok((qualityOf(provenance.rejected?.trace_id) ?? 1) <= 0.4)
      t.not(chosen[0]?.content, rejected[0]?.content)
    }
  })

  t.test('a lone pair stays, and the version says that its lengths are uneven', async (t) => {
    const said = (content: string) => [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content },
    ]
    const { api } = await openOrganization([
      { trace_id: 'good', task_id: 'task', quality: 1, messages: said('Because it is so') },
      { trace_id: 'bad', task_id: 'task', quality: 0, messages: said('Who knows?') },
    ])
    for (const length_balance of [true, false]) {
      const version = await buildDataset(api, 'dpo', { options: { length_balance } })
      t.equal(version.row_count, 1)
      t.same(version.dropped_counts, {})
      t.match(version.warnings, [{ code: 'length_bias', message: /1\.60 times.*0\.470/ }])
      const [row] = await readJsonl(api, version)
      t.equal(row?.provenance.pair_source, 'attempts')
    }
  })

  t.test('a tenth of many pairs is left out at most, unless none is to be', async (t) => {
    const traces = Array.from({ length: 60 }, (_, n) => ({
      trace_id: `t-${String(n).padStart(2, '0')}`,
      task_id: `task ${n >> 1}`,
      quality: n % 2,
      messages: [
        { role: 'user', content: `Question ${n >> 1}` },
        { role: 'assistant', content: n % 2 ? 'It is quite so' : 'It is not' },
      ],
    }))
    const { api } = await openOrganization(traces)
    const balanced = await buildDataset(api, 'dpo')
    t.same([balanced.row_count, balanced.dropped_counts], [27, { length_balance: 3 }])
    t.match(balanced.warnings, [{ code: 'length_bias' }])
    const whole = await buildDataset(api, 'dpo', { options: { length_balance: false } })
    t.same([whole.row_count, whole.dropped_counts], [30, {}])
  })

  t.test('a replay that did better than its source makes a pair of that name', async (t) => {
    const said = (content: string) => [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content },
    ]
    const { api } = await openOrganization([
      { trace_id: 'source', task_id: 'task', quality: 0, messages: said('It is not so') },
      {
        trace_id: 'replay',
        task_id: 'task',
        quality: 1,
        source_type: 'replayed',
        parent_trace_id: 'source',
        messages: said('It is just so'),
      },
    ])
    const [row] = await readJsonl(api, await buildDataset(api, 'dpo'))
    t.match(row?.provenance, { trace_id: 'replay', rejected: { trace_id: 'source' } })
    t.equal(row?.provenance.pair_source, 'replay')
  })
})

/** By the definition: log length ratios of the pairs, task by task, without code of the program. */
function findPairs(
  traces: readonly {
    trace_id: string
    task_id: string
    quality: number
    messages: { role: string; content: string }[]
  }[],
) {
  const ratios: number[] = []
  for (const task of new Set(traces.map(({ task_id }) => task_id))) {
    const attempts = traces.filter(({ task_id }) => task_id === task)
    const candidates = attempts.flatMap((good) =>
      attempts.flatMap((bad) => {
        if (good.quality < 0.8 || bad.quality > 0.4) return []
        const turn = good.messages.findIndex(
          ({ content }, i) => content !== bad.messages[i]?.content,
        )
        const [a, b] = [good.messages[turn], bad.messages[turn]]
        if (!a || !b || turn === 0 || a.role !== 'assistant') return []
        const words = ({ content }: { content: string }) =>
          content.toLowerCase().replace(/[,!]/g, '')
        if (words(a) === words(b)) return []
        const ratio = Math.log(a.content.length / b.content.length)
        if (Math.abs(ratio) > Math.log(2)) return []
        const said = good.messages.slice(0, turn).map(({ content }) => content)
        return [
          {
            good: good.trace_id,
            bad: bad.trace_id,
            margin: good.quality - bad.quality,
            ratio,
            key: [...said, a.content, b.content].join('|'),
          },
        ]
      }),
    )
    candidates.sort(
      (a, b) =>
        b.margin - a.margin ||
        (a.good < b.good ? -1 : a.good > b.good ? 1 : a.bad < b.bad ? -1 : 1),
    )
    const taken: typeof candidates = []
    for (const one of candidates) {
      const uses = (id: string) => taken.filter(({ good, bad }) => good === id || bad === id).length
      const again = taken.some(({ key }) => key === one.key)
      if (taken.length < 4 && !again && uses(one.good) < 2 && uses(one.bad) < 2) taken.push(one)
    }
    ratios.push(...taken.map(({ ratio }) => ratio))
  }
  return ratios
}

/** How many stay when the most one-sided go, at most a tenth, until the mean is within .05. */
function balance(ratios: number[]) {
  const left = ratios.toSorted((a, b) => a - b)
  const mean = () => left.reduce((sum, ratio) => sum + ratio, 0) / left.length
  const least = ratios.length < 20 ? ratios.length : ratios.length - Math.floor(ratios.length / 10)
  while (left.length > least && Math.abs(mean()) > 0.05) {
    if (mean() > 0) left.pop()
    else left.shift()
  }
  return { count: left.length, mean: mean() }
}

function seeded(seed: number) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x8000_0000
  }
}
