import t from 'tap'
import { describeRefusal } from '../../../../jobs/rules/org/quota-refusal.ts'

t.test('a refusal names the metric and what would fit', async (t) => {
  const rows = { metric: 'sft_rows', limit: 500, left: 500, asked: 5000 } as const
  t.equal(describeRefusal(rows), 'sft_rows: 5,000 rows would pass the quota of 500; 500 are left')
  const trace = { metric: 'traces_ingested', limit: 1000, left: 1, asked: 1 } as const
  t.equal(
    describeRefusal(trace),
    'traces_ingested: 1 trace would pass the quota of 1,000; 1 is left',
  )
  const check = { metric: 'regression_checks', limit: 50, left: 0 } as const
  t.equal(describeRefusal(check), 'regression_checks: the quota of 50 a month is used up')
})
