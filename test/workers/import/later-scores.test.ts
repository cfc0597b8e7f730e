import t from 'tap'
import type { Members } from '../../../jobs/rules/import/format.ts'
import { importRecords } from '../../support/import-records.ts'

const TIMES = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-01T00:00:01Z' }
const RUN = { id: 'run-1', trace_id: 'run-1', name: 'answer', run_type: 'chain', ...TIMES }
const SPAN = { name: 'answer', context: { trace_id: 't1', span_id: 's1' }, ...TIMES }
const ANNOTATION = { name: 'helpful', annotator_kind: 'HUMAN', result: { score: 1 } }
const TOLD = {
  'annotations.0.annotation.name': 'helpful',
  'annotations.0.annotation.score': 0.5,
}
const ROW = { id: 't1', bookmarked: false, timestamp: '2026-01-01T00:00:00Z' }
const STATS = { helpful: { n: 2, avg: 0.5 } }

t.test('scores inside of what else is told of a trace', async (t) => {
  const cases: readonly (readonly [string, Members, readonly string[]])[] = [
    ['columns of Langfuse', { ...ROW, helpful: [0.8, 1], tone: ['curt'] }, ['helpful', 'tone']],
    ['cells of Langfuse', { ...ROW, helpful: '[0.8]' }, ['helpful']],
    ['annotations of Phoenix', { ...SPAN, annotations: [ANNOTATION] }, ['helpful']],
    ['attributes of Phoenix', { ...SPAN, attributes: TOLD }, ['helpful']],
    ['attributes in text', { ...SPAN, attributes: JSON.stringify(TOLD) }, ['helpful']],
    ['statistics of LangSmith', { ...RUN, feedback_stats: STATS }, ['helpful']],
    ['statistics in text', { ...RUN, feedback_stats: JSON.stringify(STATS) }, ['helpful']],
    [
      'scores of Opik',
      {
        id: 't1',
        project_name: 'p',
        input: {},
        ...TIMES,
        feedback_scores: [{ name: 'helpful', value: 1, source: 'ui' }],
      },
      ['helpful'],
    ],
  ]
  for (const [what, record, names] of cases) {
    const [added, known] = [importRecords([record], false), importRecords([record], true)]
    t.same(new Set(known.page.laterScores.map(({ name }) => name)), new Set(names), what)
    t.same(
      known.page.laterScores,
      added.page.scores,
      `${what} are the same as those of a new trace`,
    )
    t.match(known.page, { skipped: 1, lost: [], traceIds: [] })
  }
})

t.test('nothing is kept of what tells no score of a trace that is there', async (t) => {
  for (const record of [ROW, SPAN, RUN, { ...RUN, feedback_stats: {} }]) {
    const { page } = importRecords([record], true)
    t.match(page, { skipped: 1, laterScores: [], corrections: [], lost: [] })
  }
})
