import type { AgentHistory } from './agent-history.ts'
import type { Maker } from './maker.ts'
import { conversation } from './sent-traces.ts'

/** Replays of the first version's traces as the second: one that ended in each way, and ones that are open. */
export async function replayTraces({ post, id, settled }: Maker, { first, second }: AgentHistory) {
  const batch_id = await id('/replay/batches', {
    target_manifest_id: second,
    source_manifest_id: first,
    filters: { manifest_ids: [first], verdicts: ['keep', 'repair', 'replay', 'drop'], max_rows: 8 },
    note: 'after "two"',
  })
  const { tasks } = await post('/replay/tasks/claim', { worker_id: 'w 1', batch_id, max: 4 })
  const submit = (i: number, result: object) => {
    const { id: task, lease_token } = tasks[i]
    return post(`/replay/tasks/${task}/submit`, { lease_token, ...result })
  }
  const trace = { ...conversation('replayed-0', 'again'), final_output_preview: 'better' }
  await submit(0, { status: 'completed', trace, eval_score: 0.9 })
  await submit(1, { status: 'failed', error: 'no \\ "luck"' })
  await submit(2, { status: 'skipped', error: 'not possible' })
  await settled()
  const canceled = await id('/replay/batches', {
    target_manifest_id: second,
    trace_ids: ['refund-0', 'refund-1'],
  })
  await post(`/replay/batches/${canceled}/cancel`)
}
