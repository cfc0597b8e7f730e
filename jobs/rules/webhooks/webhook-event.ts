/** Every event an organization can be notified of. */
export const EVENT_TYPES = [
  'manifest.changed',
  'regression.detected',
  'regression.resolved',
  'usage.warning',
  'usage.limit_reached',
  'payment.failed',
  'payment.confirmed',
  'subagent.drift',
  'skill.safety_status_changed',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** What is reported as the selection while none was ever made; sent are all of them then. */
export const REPORTED_DEFAULT: readonly EventType[] = [
  'manifest.changed',
  'usage.warning',
  'usage.limit_reached',
  'payment.failed',
  'payment.confirmed',
]

/** The members of `data` of each event. */
export interface EventData {
  'manifest.changed': {
    agent_name: string
    version_label: string
    previous_version_label: string | null
    manifest_id: string
    /** Of the version at its registration. */
    status: 'draft' | 'active'
    traces_affected: number
  }
  'regression.detected': RegressionData
  'regression.resolved': RegressionData
  'usage.warning': UsageData
  'usage.limit_reached': UsageData
  'payment.failed': PaymentData
  'payment.confirmed': PaymentData
  'subagent.drift': {
    agent_name: string
    subagent_name: string
    manifest_id: string
    expected_hash: string
    observed_hash: string
    trace_sample_ids: string[]
  }
  'skill.safety_status_changed': {
    skill_id: string
    skill_name: string
    version_id: string
    version: number
    previous_band: string | null
    band: string
    withheld: boolean
    reason_codes: string[]
    scanner_version: number
    changed_at: string
  }
  test: { message: string }
}

/** How often an event is attempted at most: only `regression.detected` is ever retried. */
export function maxAttempts(event: keyof EventData) {
  return event === 'regression.detected' ? 3 : 1
}

/** The body of a notification, as the bytes that are signed and sent. */
export function envelopeBytes<E extends keyof EventData>(
  event: E,
  org: { id: string; name: string },
  data: EventData[E],
  at: Date,
): Buffer {
  const timestamp = at.toISOString().replace('Z', '+00:00')
  return Buffer.from(JSON.stringify({ event, timestamp, org_id: org.id, org_name: org.name, data }))
}

interface RegressionData {
  agent_name: string
  manifest_id: string
  version_label: string
  previous_version_label: string | null
  metric: string
  /** Negative for a drop. */
  delta: number
  trace_sample_ids: string[]
}

interface UsageData {
  metric: string
  current: number
  limit: number
  plan: string
  period_start: string
  period_end: string
}

interface PaymentData {
  payment_invoice_id: string
  /** In the currency's smallest unit. */
  amount: number
  currency: string
  grace_period_ends: string | null
}
