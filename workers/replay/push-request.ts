import type { TaskInput } from '../../jobs/rules/replay/task-input.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import { eventHeaders } from '../outbound/event-headers.ts'
import type { OutboundSettings } from '../runtime/context.ts'

/** What a runner is sent: protocol 1. */
export interface PushedTask {
  readonly task: LeasedTask
  readonly input: TaskInput
  readonly sentAt: Date
  /** Of the organization's webhooks, sealed; null to send unsigned. */
  readonly secret: Buffer | null
}

/**
 * Body and headers of the request that sends a task. The id of its event names the lease: who has taken
 * an event and passes over the same again never holds a lease that was given to another one.
 */
export function pushRequest(
  { task, input, sentAt, secret }: PushedTask,
  { publicUrl, masterKeys }: Pick<OutboundSettings, 'publicUrl' | 'masterKeys'>,
) {
  const { id, batch_id, attempt, lease_token, leased_until, trace_id, replayability } = task
  const taskUrl = `${publicUrl}/api/v1/replay/tasks/${id}`
  const content = {
    protocol: 1,
    sent_at: sentAt,
    batch_id,
    task: {
      id,
      attempt,
      lease_token,
      leased_until,
      trace_id,
      replayability,
      task_input: input,
    },
    submit_url: `${taskUrl}/submit`,
    heartbeat_url: `${taskUrl}/heartbeat`,
  }
  const body = Buffer.from(JSON.stringify(content))
  const event = { event: 'replay.task', id: `${id}:${lease_token}`, body, secret }
  return { body, headers: eventHeaders(event, masterKeys) }
}
