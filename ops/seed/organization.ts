import type { ApiClient } from '../api-client.ts'

/**
 * Notifications go to a name that no resolver knows, so that deliveries have something to show and
 * nothing leaves the machine. An address that somebody has set stays.
 */
export async function setWebhook(client: ApiClient) {
  const { webhook_url } = await client.get<{ webhook_url: string | null }>('/org/notifications')
  if (webhook_url !== null) return
  await client.post(
    '/org/notifications',
    { webhook_url: 'https://hooks.example.invalid/agents', events: EVENTS },
    { method: 'PATCH' },
  )
}

/** A test event, and a delivery that failed sent again. */
export async function sendTest(client: ApiClient) {
  const list = async () => client.get<DeliveriesAnswer>('/org/webhook-deliveries?limit=50')
  const { deliveries } = await list()
  if (deliveries.some(({ event }) => event === 'test')) return
  await client.post('/org/notifications/test', {}, { allowed: [409] })
  const failed = deliveries.find(({ status }) => status === 'failed')
  if (failed) await client.post(`/org/webhook-deliveries/${failed.id}/redeliver`, {})
}

/** Keys as an organization has them beside its first one. Nobody keeps them. */
export async function makeKeys(client: ApiClient, now: Date) {
  const { api_keys: keys } = await client.get<{ api_keys: { label: string }[] }>('/api-keys')
  const { projects } = await client.get<{ projects: { id: string }[] }>('/projects')
  const [project] = projects
  const inAMonth = new Date(now.getTime() + 30 * 86_400_000).toISOString()
  const wanted = [
    { label: 'Dashboard', scope: 'global', permissions: 'read' },
    {
      label: 'Ingest of production',
      scope: 'project',
      project_id: project?.id,
      permissions: 'write',
    },
    { label: 'CI checks', scope: 'global', permissions: 'write', expires_at: inAMonth },
  ]
  for (const key of wanted) {
    if (keys.some(({ label }) => label === key.label)) continue
    await client.post('/api-keys', key)
  }
}

/** The billing agent was judged strictly at first. Set before its traces come, so that none is judged twice. */
export async function setPolicies(client: ApiClient) {
  const agent_name = 'billing-agent'
  const { total } = await client.get<{ total: number }>(
    `/decision-policy/versions?agent_name=${agent_name}`,
  )
  for (const policy of POLICIES.slice(total)) {
    await client.post('/decision-policy', { ...policy, agent_name }, { method: 'PUT' })
  }
}

const EVENTS = [
  'manifest.changed',
  'regression.detected',
  'regression.resolved',
  'subagent.drift',
  'skill.safety_status_changed',
]
const POLICIES = [
  { preset: 'strict' },
  { preset: 'default', thresholds: { keep_at: 0.7, drop_at: 0.45 } },
]

interface DeliveriesAnswer {
  readonly deliveries: readonly { id: string; event: string; status: string }[]
}
