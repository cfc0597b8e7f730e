import t from 'tap'
import { remedyFor } from '../../../../jobs/rules/jobs/orphaned.ts'
import type { OrphanedJob, Remedy } from '../../../../jobs/rules/jobs/orphaned.ts'

t.test('what is done about a job that no worker will settle', async (t) => {
  const cases: [Partial<OrphanedJob>, Remedy['action'], string?][] = [
    [{ state: 'cancelling', queue_row: 'waiting' }, 'cancel'],
    [{ state: 'cancelling', queue_row: 'gone' }, 'cancel'],
    [{ state: 'running', queue_row: 'waiting' }, 'requeue', 'worker_lost'],
    [{ state: 'running', queue_row: 'waiting', timed_out: true }, 'requeue', 'timed_out'],
    [{ state: 'running', queue_row: 'failed' }, 'fail', 'worker_lost'],
    [{ state: 'queued', queue_row: 'failed', timed_out: true }, 'fail', 'timed_out'],
    [{ state: 'queued', queue_row: 'gone' }, 'rescue'],
    [{ state: 'running', queue_row: 'ended' }, 'rescue'],
    [{ state: 'queued', queue_row: 'gone', was_rescued: true }, 'fail', 'queue_row_lost'],
  ]
  for (const [job, action, code] of cases) {
    const remedy = remedyFor({
      state: 'running',
      queue_row: 'gone',
      timed_out: false,
      was_rescued: false,
      ...job,
    })
    t.equal(remedy.action, action, JSON.stringify(job))
    t.equal('error' in remedy ? remedy.error.code : undefined, code)
  }
})
