import t from 'tap'
import type { Attempt } from '../../../../jobs/rules/datasets/attempts.ts'
import { balanceLengths, isBiased } from '../../../../jobs/rules/datasets/length-balance.ts'
import { choosePairs, choosePreferences } from '../../../../jobs/rules/datasets/pairs.ts'
import { attempt, attemptWith, toolbox } from '../../../support/attempts.ts'
import fc from '../../../support/property.ts'

const reasons = (attempts: Attempt[]) => Object.fromEntries(choosePairs(attempts).dropped)

t.test('a pair is the turn in which a good and a bad attempt part', async (t) => {
  const good = attempt(1, 0.9, 's:Be brief', 'u:Hi', 'a:Hello', 'u:2+2?', 'a:It is 4')
  const bad = attempt(2, 0.1, 's:Be brief', 'u:Hi', 'a:Hello', 'u:2+2?', 'a:It is 5', 'u:No')
  const { pairs, dropped } = choosePairs([bad, good])
  t.equal(dropped.size, 0)
  t.match(pairs, [
    {
      turn: 3,
      chosenTurn: { content: 'It is 4' },
      rejectedTurn: { content: 'It is 5' },
      lengthRatio: 0,
    },
  ])
})

t.test('what is no pair has its reason', async (t) => {
  const good = (...said: string[]) => attempt(1, 0.9, ...said)
  const bad = (...said: string[]) => attempt(2, 0.1, ...said)
  const one = { user_divergence: 1 }
  t.same(reasons([good('u:a', 'a:x'), bad('u:b', 'a:y')]), one)
  t.same(reasons([good('u:a', 'a:x'), bad('u:a', 'u:b', 'a:y')]), one, 'one side is the user')
  t.same(reasons([good('u:a', 'a:x', 't:1', 'a:y'), bad('u:a', 'a:x', 't:2', 'a:z')]), {
    env_divergence: 1,
  })
  t.same(reasons([good('u:a', 'a:x'), bad('u:a', 'a:x')]), { no_divergence: 1 })
  t.same(reasons([good('u:a', 'a:x'), bad('u:a', 'a:x', 'a:y')]), { no_divergence: 1 })
  t.same(reasons([good('u:a', 'a:Yes, it is.'), bad('u:a', 'a:yes  it is')]), { near_identical: 1 })
  t.same(reasons([good('u:a', 'a:-5'), bad('u:a', 'a:5')]), {}, 'a sign is no punctuation')
  t.same(reasons([good('u:a', 'a:1234567'), bad('u:a', 'a:123')]), { length_ratio: 1 })
  t.same(reasons([good('u:a', 'a:x'), attempt(2, 0.9, 'u:a', 'a:y')]), { unpaired: 2 })
  t.same(
    reasons([good('s:A', 'u:a', 'a:x'), bad('s:B', 'u:a', 'a:y')]),
    { unpaired: 2 },
    'other system prompt',
  )
  t.same(
    reasons([good('u:a', 'a:x'), attempt(2, 0.5, 'u:a', 'a:y')]),
    { unpaired: 1 },
    'neither good nor bad',
  )
})

t.test('attempts with other tools are not compared', async (t) => {
  const good = attemptWith(toolbox('a'), { index: 1, quality: 0.9 }, ['u:Hi', 'a:x'])
  const bad = (name: string) =>
    attemptWith(toolbox(name), { index: 2, quality: 0.1 }, ['u:Hi', 'a:y'])
  t.equal(choosePairs([good, bad('a')]).pairs.length, 1)
  t.equal(choosePairs([good, bad('b')]).pairs.length, 0)
})

t.test('attempts in two splits are not compared', async (t) => {
  const said = ['u:Hi', 'a:x']
  const good = attempt(1, 0.9, 'u:Hi', 'a:y')
  const bad = attemptWith(toolbox(), { index: 2, quality: 0.1, splitIndex: 2 }, said)
  t.same(reasons([good, bad]), { unpaired: 2 })
})

t.test('a trace makes a pair with one of its replays, the one farthest from it', async (t) => {
  const source = attempt(0, 0, 's:Old', 'u:q', 'a:none')
  const replay = (index: number, quality: number, text: string) => {
    const told = { index, quality, source_trace_id: 't-0' }
    return attemptWith(toolbox(), told, ['s:New', 'u:q', `a:${text}`])
  }
  const replays = [replay(1, 0.9, 'some'), replay(2, 1, 'more'), replay(3, 0.9, 'much')]
  const { pairs, dropped } = choosePairs([source, ...replays])
  t.same(
    pairs.map(({ chosen, rejected, replay }) => [chosen.index, rejected.index, replay?.index]),
    [[2, 0, 2]],
  )
  t.same(Object.fromEntries(dropped), { replay_limit: 2 })
})

t.test('replays of one trace are attempts like others', async (t) => {
  const replay = (index: number, quality: number, text: string) =>
    attemptWith(toolbox(), { index, quality, source_trace_id: 't-0' }, ['u:q', `a:${text}`])
  const { pairs } = choosePairs([replay(1, 1, 'yes'), replay(2, 0, 'no!')])
  t.match(pairs, [{ chosen: { index: 1 }, rejected: { index: 2 }, replay: null }])
})

t.test('a task gives four pairs at most, a trace is in two, and none comes twice', async (t) => {
  const good = ['aa', 'bb', 'cc'].map((text, i) => attempt(i, 1, 'u:q', `a:${text}`))
  const bad = ['dd', 'ee', 'ff', 'ff'].map((text, i) => attempt(10 + i, 0, 'u:q', `a:${text}`))
  const { pairs, dropped } = choosePairs([...good, ...bad])
  t.same(
    pairs.map(({ chosen, rejected }) => [chosen.index, rejected.index]),
    [
      [0, 10],
      [0, 11],
      [1, 10],
      [1, 11],
    ],
  )
  t.same(Object.fromEntries(dropped), { trace_limit: 2, task_limit: 6 })
  const twins = choosePairs([good[0] as Attempt, ...bad.slice(2)])
  t.equal(twins.pairs.length, 1)
  t.same(Object.fromEntries(twins.dropped), { duplicate: 1 })
})

/** Short conversations over few words, so that many share a beginning. */
const attempts = fc.array(
  fc.record({
    quality: fc.constantFrom(0, 0.2, 0.4, 0.5, 0.8, 0.9, 1),
    system: fc.constantFrom('s:A', 's:B'),
    said: fc.array(
      fc.constantFrom('a:one', 'a:two', 'a:One!', 'a:three words here', 't:1', 't:2', 'u:x', 'u:y'),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
  }),
  { maxLength: 8 },
)

t.test('every comparison of a good and a bad attempt gives a pair or one reason', async (t) => {
  fc.assert(
    fc.property(attempts, (given) => {
      const all = given.map(({ quality, system, said }, no) =>
        attempt(no, quality, system, 'u:go', ...said, 'a:end'),
      )
      const { pairs, dropped } = choosePairs(all)
      const counted = [...dropped].filter(([reason]) => reason !== 'unpaired')
      const comparisons = all.flatMap((good) =>
        all.filter((bad) => good.quality >= 0.8 && bad.quality <= 0.4 && good.group === bad.group),
      )
      const total = counted.reduce((sum, [, n]) => sum + n, pairs.length)
      t.equal(total, comparisons.length)
    }),
    { numRuns: 300 },
  )
})

t.test('pairs are as many as an independent count finds', async (t) => {
  fc.assert(
    fc.property(attempts, (given) => {
      const tried = given.map((one, no) => ({
        ...one,
        no,
        said: [one.system, 'u:go', ...one.said, 'a:end'],
      }))
      const { pairs } = choosePairs(
        tried.map(({ no, quality, said }) => attempt(no, quality, ...said)),
      )
      t.equal(pairs.length, countPairs(tried))
    }),
    { numRuns: 500 },
  )
})

/** By the definition, without hashes, groups or shared code. */
function countPairs(tried: readonly { no: number; quality: number; said: readonly string[] }[]) {
  const candidates = tried.flatMap((good) =>
    tried.flatMap((bad) => {
      if (good.quality < 0.8 || bad.quality > 0.4 || good.said[0] !== bad.said[0]) return []
      let turn = 0
      while (turn < good.said.length && good.said[turn] === bad.said[turn]) turn++
      const [a = '', b = ''] = [good.said[turn], bad.said[turn]]
      if (!a.startsWith('a:') || !b.startsWith('a:')) return []
      const words = (text: string) => text.slice(2).toLowerCase().replace(/[!.]/g, '')
      if (words(a) === words(b)) return []
      const ratio = (a.length - 2) / (b.length - 2)
      if (ratio > 2 || ratio < 0.5) return []
      return [
        {
          good: good.no,
          bad: bad.no,
          margin: good.quality - bad.quality,
          key: [...good.said.slice(0, turn), a, b].join('|'),
        },
      ]
    }),
  )
  candidates.sort((a, b) => b.margin - a.margin || a.good - b.good || a.bad - b.bad)
  const taken: typeof candidates = []
  for (const one of candidates) {
    const uses = (no: number) => taken.filter(({ good, bad }) => good === no || bad === no).length
    const again = taken.some(({ key }) => key === one.key)
    if (taken.length < 4 && !again && uses(one.good) < 2 && uses(one.bad) < 2) taken.push(one)
  }
  return taken.length
}

t.test('balancing leaves out a tenth at most, and stops once the lengths are even', async (t) => {
  const ratio = fc.double({ min: -0.69, max: 0.69, noNaN: true })
  fc.assert(
    fc.property(fc.array(ratio, { maxLength: 60 }), (given) => {
      const ratios = Float64Array.from(given).sort()
      const { low, high, mean } = balanceLengths(ratios, { length_balance: true })
      const left = ratios.subarray(low, ratios.length - high)
      const sum = left.reduce((total, one) => total + one, 0)
      t.ok(Math.abs(mean - (left.length === 0 ? 0 : sum / left.length)) < 1e-9)
      const most = ratios.length < 20 ? 0 : Math.floor(ratios.length / 10)
      t.ok(low + high <= most)
      t.ok(!isBiased(mean) || low + high === most, 'it stops early only where they are even')
    }),
  )
  const even = Float64Array.from({ length: 20 }, () => 0.04)
  t.match(balanceLengths(even, { length_balance: true }), { low: 0, high: 0 })
  const long = Float64Array.of(...even.slice(1), 0.6)
  t.match(balanceLengths(long, { length_balance: true }), { low: 0, high: 1 })
  t.match(balanceLengths(long, { length_balance: false }), { low: 0, high: 0 })
  t.same(
    balanceLengths(Float64Array.of(0.6), { length_balance: true }),
    { low: 0, high: 0, mean: 0.6 },
    'a lone pair stays',
  )
})

t.test(
  'what a person compared makes the pairs that were compared, unless they are equal',
  async (t) => {
    const said = (no: number, preferred: boolean, pair_id: string | null, text: string) => ({
      ...attempt(no, Number(preferred), 'u:q', `a:${text}`),
      preferred,
      pair_id,
    })
    const { pairs, dropped } = choosePreferences([
      said(1, true, 'p', 'a very long answer that says all there is to say'),
      said(2, false, 'p', 'b'),
      said(3, true, 'q', 'b'),
      said(4, false, 'q', 'c'),
      said(5, true, null, 'd'),
      said(6, true, 'r', 'Same'),
      said(7, false, 'r', 'same!'),
      said(8, true, 's', 'Same'),
      said(9, false, 's', 'Same'),
    ])
    t.same(
      pairs.map(({ chosen, rejected }) => [chosen.index, rejected.index]),
      [
        [1, 2],
        [3, 4],
        [6, 7],
      ],
    )
    t.same(Object.fromEntries(dropped), { unpaired: 1, no_divergence: 1 })
  },
)
