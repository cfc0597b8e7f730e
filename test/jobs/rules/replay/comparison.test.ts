import t from 'tap'
import { DEFAULT_POLICY, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { JudgedScore } from '../../../../jobs/rules/evals/quality.ts'
import { compareRuns } from '../../../../jobs/rules/replay/comparison.ts'
import type { ComparedRun, Replayed } from '../../../../jobs/rules/replay/comparison.ts'
import fc from '../../../support/property.ts'

const POLICY = DEFAULT_POLICY.settings

t.test('a comparison of scores', async (t) => {
  t.test('is decided by what scored both runs, whatever else there is', async (t) => {
    const before = run({ scores: [score('helpful', 0.5), score('old', 1)], quality: 0.9 })
    const after = run({ scores: [score('helpful', 0.8), score('new', 0)], quality: 0.1 })
    t.match(compareRuns(before, replayed(after, { given: 0 }), POLICY), {
      outcome: 'win',
      basis: 'common_scores',
      score_delta: 0.3,
    })
  })

  t.test('fuses several common scores by the policy of the agent', async (t) => {
    const scores = (human: number, judge: number) => [
      score('a', human, 'human'),
      score('b', judge, 'third_party'),
    ]
    const pair = [
      run({ scores: scores(0.5, 0) }),
      replayed(run({ scores: scores(0.5, 1) })),
    ] as const
    t.match(compareRuns(...pair, POLICY), { outcome: 'tie', score_delta: 0 })
    const judges = resolvePolicy({ source_weights: { human: 0 } })
    t.match(compareRuns(...pair, judges), { outcome: 'win', score_delta: 1 })
  })

  t.test('takes the score given where none is common, against the quality', async (t) => {
    const before = run({ scores: [score('old', 1), builtIn('completion', 1)], quality: 0.7 })
    const after = run({ scores: [builtIn('completion', 0)], quality: 0 })
    const given = (value: number | null) => ({ given: value })
    t.match(compareRuns(before, replayed(after, given(0.75)), POLICY), {
      outcome: 'win',
      basis: 'given_score',
      score_delta: 0.05,
    })
    t.match(compareRuns(before, replayed(null, given(0.6)), POLICY), {
      outcome: 'loss',
      basis: 'given_score',
      score_delta: -0.1,
      final_output_changed: null,
      tool_path_changed: null,
    })
    const unscored = { ...before, quality: null }
    t.match(compareRuns(unscored, replayed(null, given(0.6)), POLICY), {
      outcome: 'tie',
      basis: 'given_score',
      score_delta: null,
    })
  })

  t.test('takes the built-ins of both where nothing else tells', async (t) => {
    const before = run({ scores: [builtIn('completion', 1), builtIn('tools', 0), score('x', 1)] })
    const after = run({ scores: [builtIn('completion', 1), builtIn('latency', 0)] })
    t.match(compareRuns(before, replayed(after), POLICY), {
      outcome: 'tie',
      basis: 'builtins',
      score_delta: 0,
    })
    t.match(compareRuns(run({}), replayed(run({})), POLICY), {
      outcome: 'tie',
      basis: 'builtins',
      score_delta: null,
    })
  })

  t.test('heeds no label and no score of compatibility', async (t) => {
    const odd = [
      { ...score('label', 0), value: null },
      { ...score('fits', 1), category: 'compatibility' as const },
    ]
    const other = odd.map((each) => ({ ...each, value: each.value === null ? null : 0 }))
    const compared = compareRuns(run({ scores: odd }), replayed(run({ scores: other })), POLICY)
    t.match(compared, { basis: 'builtins', score_delta: null })
  })

  t.test('is won from .05 on, also where floating point falls short of it', async (t) => {
    for (const [before, after, outcome] of [
      [0.7, 0.75, 'win'],
      [0.75, 0.7, 'loss'],
      [0.1, 0.15, 'win'],
      [0.3, 0.35, 'win'],
      [0.7, 0.749, 'tie'],
      [0.749, 0.7, 'tie'],
      [0.7, 0.7, 'tie'],
    ] as const) {
      const pair = [run({ scores: [score('s', before)] }), run({ scores: [score('s', after)] })]
      const compared = compareRuns(pair[0] as ComparedRun, replayed(pair[1] as ComparedRun), POLICY)
      t.equal(compared.outcome, outcome, `${before} -> ${after}`)
    }
  })

  t.test('is lost when the replay of a successful run fails, whatever its scores', async (t) => {
    const good = run({ scores: [score('s', 0.1)] })
    const failing = run({ status: 'error', scores: [score('s', 1)] })
    const lost = { outcome: 'loss', basis: null, score_delta: null }
    t.match(compareRuns(good, replayed(failing), POLICY), lost)
    t.match(compareRuns(good, replayed(null, { failed: true }), POLICY), lost)
    const bad = { ...good, status: 'error' } as const
    t.match(compareRuns(bad, replayed(null, { failed: true }), POLICY), { ...lost, outcome: 'tie' })
  })

  t.test('of the two the other way round is the opposite', async () => {
    const runs = fc
      .record({ a: fc.option(unit()), b: fc.option(unit()), built: unit() })
      .map(({ a, b, built }) =>
        run({
          scores: [
            ...(a === null ? [] : [score('a', a)]),
            ...(b === null ? [] : [score('b', b, 'third_party')]),
            builtIn('completion', built),
          ],
        }),
      )
    fc.assert(
      fc.property(runs, runs, (one, other) => {
        const there = compareRuns(one, replayed(other), POLICY)
        const back = compareRuns(other, replayed(one), POLICY)
        return (
          there.outcome === OPPOSITE[back.outcome] &&
          there.basis === back.basis &&
          (there.score_delta ?? 0) + (back.score_delta ?? 0) === 0
        )
      }),
    )
  })

  t.test('does not depend on the order of scores', async () => {
    const scores = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), unit()), { maxLength: 6 })
    fc.assert(
      fc.property(scores, scores, (mine, theirs) => {
        const of = (list: typeof mine) => run({ scores: list.map(([name, v]) => score(name, v)) })
        const ordered = compareRuns(of(mine), replayed(of(theirs)), POLICY)
        const reversed = compareRuns(
          of(mine.toReversed()),
          replayed(of(theirs.toReversed())),
          POLICY,
        )
        return JSON.stringify(ordered) === JSON.stringify(reversed)
      }),
    )
  })
})

t.test('a comparison of what was done', async (t) => {
  const compare = (before: Partial<ComparedRun>, after: Partial<ComparedRun>) =>
    compareRuns(run(before), replayed(run(after)), POLICY)
  const changed = (before: string | null, after: string | null) =>
    compare({ output: before }, { output: after }).final_output_changed

  t.test('calls an answer another one when less than 98 % of it is the same', async (t) => {
    const words = Array.from({ length: 200 }, (_, i) => `word${i}`)
    const text = words.join(' ')
    t.equal(changed(text, `  ${text}\n`), false)
    t.equal(changed(text, words.with(100, 'other').join(' ')), false, '1 word of 200')
    t.equal(changed(text, words.map((w, i) => (i % 40 ? w : 'x')).join(' ')), true, '5 of 200')
    t.equal(changed('Yes', 'No'), true)
    t.equal(changed(null, null), false)
    t.equal(changed(null, 'x'), true)
  })

  t.test('compares texts that have no spaces by their signs', async (t) => {
    const signs = '一二三四五六七八九十'.repeat(30)
    t.equal(changed(signs, signs.replace('五', '百')), false)
    t.equal(changed(signs, signs.replaceAll('五', '百')), true)
    const json = JSON.stringify(Array.from({ length: 100 }, (_, i) => ({ id: i, name: `n${i}` })))
    t.equal(changed(json, json.replace('n50', 'm50')), false)
  })

  t.test('reads no more than the beginnings of long texts, and their lengths', async (t) => {
    const long = 'lorem ipsum '.repeat(400_000)
    t.equal(changed(long, `${long}x`), false)
    t.equal(changed(long, long.slice(0, long.length / 2)), true)
    t.equal(changed(long, `x ${'dolor sit '.repeat(480_000)}`), true)
  })

  t.test('sees tools that are called otherwise or in another order', async (t) => {
    const path = (before: string[], after: string[]) =>
      compare({ tools: before }, { tools: after }).tool_path_changed
    t.equal(path(['a', 'b'], ['a', 'b']), false)
    t.equal(path(['a', 'b'], ['b', 'a']), true)
    t.equal(path(['a'], ['a', 'a']), true)
    t.equal(path([], []), false)
  })

  t.test('tells time and cost only where both runs do', async (t) => {
    const timed = { durationMs: 1500, costUsd: 0.3 }
    t.match(compare(timed, { durationMs: 1000, costUsd: 0.1 }), {
      latency_delta_ms: -500,
      cost_delta_usd: -0.2,
    })
    t.match(compare(timed, {}), { latency_delta_ms: null, cost_delta_usd: null })
    t.match(compare({}, timed), { latency_delta_ms: null, cost_delta_usd: null })
  })
})

function run(more: Partial<ComparedRun>): ComparedRun {
  return {
    status: 'success',
    output: 'done',
    tools: [],
    durationMs: null,
    costUsd: null,
    scores: [],
    quality: null,
    ...more,
  }
}

function replayed(run: ComparedRun | null, more: Partial<Replayed> = {}): Replayed {
  return { run, failed: false, given: null, ...more }
}

function score(name: string, value: number, kind: JudgedScore['source_kind'] = 'custom') {
  const source = kind === 'human' ? 'human' : kind === 'third_party' ? 'external' : 'custom'
  return {
    name,
    source,
    source_kind: kind,
    source_label: null,
    value,
    passed: null,
    category: 'quality',
    family: null,
  } as JudgedScore
}

function builtIn(name: string, value: number): JudgedScore {
  return { ...score(name, value), source: 'built_in', source_kind: 'builtin' }
}

function unit() {
  return fc.integer({ min: 0, max: 100 }).map((n) => n / 100)
}

const OPPOSITE = { win: 'loss', loss: 'win', tie: 'tie' } as const
