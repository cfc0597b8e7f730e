import t from 'tap'
import { readScores, sourceOf } from '../../../../jobs/rules/evals/score.ts'

t.test('scores are read', async (t) => {
  const read = (value: unknown) => {
    const faults: { field: string; message: string }[] = []
    return { scores: readScores(value, 'scores', faults), faults }
  }

  t.test('from an object of names', async (t) => {
    const { scores, faults } = read({ reward: 1, helpful: 0.25, safe: true, odd: { score: 0.5 } })
    t.same(faults, [])
    t.same(
      scores.map(({ name, value, data_type, source, source_kind }) => [
        name,
        value,
        data_type,
        source,
        source_kind,
      ]),
      [
        ['reward', 1, 'numeric', 'custom', 'custom'],
        ['helpful', 0.25, 'numeric', 'custom', 'custom'],
        ['safe', 1, 'boolean', 'custom', 'custom'],
        ['odd', 0.5, 'numeric', 'custom', 'custom'],
      ],
    )
  })

  t.test('from a list, by value or by score, with or without a number', async (t) => {
    const { scores, faults } = read([
      { name: 'a', value: 0.5, source: 'human', reason: 'fine', identifier: 'ann' },
      { name: 'b', score: false },
      { name: 'c', label: 'polite' },
      { name: 'd', passed: false },
      { name: 'e', reason: 'only words' },
    ])
    t.same(faults, [])
    t.match(scores, [
      { value: 0.5, source_kind: 'human', reason: 'fine', identifier: 'ann', span_id: '' },
      { value: 0, data_type: 'boolean' },
      { value: null, data_type: 'categorical', label: 'polite' },
      { value: 0, data_type: 'boolean', passed: false },
      { value: null, data_type: 'text' },
    ])
  })

  t.test('absent ones as none, and of one identity the last', async (t) => {
    t.same(read(undefined), { scores: [], faults: [] })
    t.same(read(null), { scores: [], faults: [] })
    const { scores } = read([
      { name: 'a', value: 0.1 },
      { name: 'a', value: 0.2, span_id: 's' },
      { name: 'a', value: 0.9 },
    ])
    t.same(
      scores.map(({ value }) => value),
      [0.9, 0.2],
    )
  })

  t.test(
    'with any word for a category, which decides by what stands before its colon',
    async (t) => {
      const categoryOf = (category: unknown, source = 'custom') => {
        const { scores, faults } = read([{ name: 'a', value: 1, category, source }])
        t.same(faults, [], String(category))
        return [scores[0]?.category, scores[0]?.category_detail]
      }
      const quality =
        `quality:deterministic quality:structural quality:llm_judge quality:safety safety
      rag agentic custom compatible`.split(/\s+/)
      for (const word of quality) t.same(categoryOf(word), ['quality', word])
      t.same(categoryOf('compatibility:tools'), ['compatibility', 'compatibility:tools'])
      t.same(categoryOf('quality', 'compat_engine'), ['quality', null])
      t.same(categoryOf('compatibility'), ['compatibility', null])
      t.same(categoryOf(undefined), ['quality', null])
      t.same(categoryOf(undefined, 'compat_engine'), ['compatibility', null])
      t.equal(read([{ name: 'a', value: 1, category: 'x'.repeat(257) }]).faults.length, 1)
    },
  )

  t.test('with a fault for each field that is wrong', async (t) => {
    const fieldsOf = (value: unknown) => read(value).faults.map(({ field }) => field)
    t.same(fieldsOf('no'), ['scores'])
    t.same(fieldsOf({ a: 1.01, b: -0.1, c: 'x' }), [
      'scores.a.value',
      'scores.b.value',
      'scores.c.value',
    ])
    t.same(fieldsOf([1, null, []]), ['scores.0', 'scores.1', 'scores.2'])
    t.same(fieldsOf([{ value: 1 }, { name: 'x' }]), ['scores.0.name', 'scores.1.score'])
    const wrong = {
      name: 5,
      score: '1',
      passed: 'yes',
      reason: 1,
      category: ['x'],
      metadata: [],
      label: {},
    }
    t.same(
      fieldsOf([wrong]).sort(),
      ['category', 'label', 'metadata', 'name', 'passed', 'reason', 'score'].map(
        (f) => `scores.0.${f}`,
      ),
    )
    t.same(fieldsOf([{ name: 'a', value: Infinity }]), ['scores.0.value'])
    t.same(fieldsOf(Array.from({ length: 1001 }, () => ({ name: 'a', value: 1 }))), ['scores'])
  })
})

t.test('a source nobody knows is external', async (t) => {
  t.equal(sourceOf('ragas'), 'external')
  t.equal(sourceOf('langsmith'), 'langsmith')
  t.equal(sourceOf('builtin'), 'built_in')
  t.equal(sourceOf(null), null)
})
