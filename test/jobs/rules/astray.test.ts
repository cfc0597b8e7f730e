import t from 'tap'
import { remedyFor } from '../../../jobs/rules/astray.ts'
import type { AstrayJob, Remedy } from '../../../jobs/rules/astray.ts'

t.test('what is done about a job that no worker will settle', async (t) => {
  const cases: [Partial<AstrayJob>, Remedy['action'], string?][] = [
    [{ state: 'cancelling', queue_state: 'retry' }, 'cancel'],
    [{ state: 'cancelling', queue_state: null }, 'cancel'],
    [{ state: 'running', queue_state: 'retry' }, 'requeue', 'worker_lost'],
    [{ state: 'running', queue_state: 'created' }, 'requeue', 'worker_lost'],
    [
      { state: 'running', queue_state: 'retry', queue_message: 'job timed out' },
      'requeue',
      'timed_out',
    ],
    [{ state: 'running', queue_state: 'failed' }, 'fail', 'worker_lost'],
    [
      { state: 'queued', queue_state: 'failed', queue_message: 'job timed out' },
      'fail',
      'timed_out',
    ],
    [{ state: 'queued', queue_state: null }, 'rescue'],
    [{ state: 'running', queue_state: 'completed' }, 'rescue'],
    [{ state: 'running', queue_state: 'cancelled' }, 'rescue'],
    [{ state: 'queued', queue_state: null, was_rescued: true }, 'fail', 'queue_row_lost'],
  ]
  for (const [job, action, code] of cases) {
    const remedy = remedyFor({
      state: 'running',
      queue_state: null,
      queue_message: null,
      was_rescued: false,
      ...job,
    })
    t.equal(remedy.action, action, JSON.stringify(job))
    t.equal('error' in remedy ? remedy.error.code : undefined, code)
  }
})
