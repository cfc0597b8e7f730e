import type { Service } from '../service.ts'
import { until } from '../until.ts'
import type { Owner } from './backups.ts'

/**
 * What the interface shows of an organization: what lists, counts, searches and sums say of what a backup
 * holds, without what another organization cannot have the same. Projects are shown by their names.
 */
export async function shownState({ client }: Service, { key }: Owner) {
  const { get } = client(key)
  const read = async (path: string) => {
    const { status, body } = await get(path)
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const { projects } = await read('/projects')
  const { workspaces } = await read('/workspaces')
  const names = new Map<string, string>(
    [...projects, ...workspaces].map(({ id, name }) => [id, name] as const),
  )
  const { violations } = await read('/agents/shop/violations')
  for (const { id } of violations) names.set(id, 'a violation')
  await until(async () => !(await read(CELLS)).stale)
  const state: Record<string, unknown> = {}
  for (const path of PATHS) state[path] = comparable(await read(path), names)
  return state
}

function comparable(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value
  if (Array.isArray(value)) return value.map((each) => comparable(each, names))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !OWN.has(name))
  return Object.fromEntries(members.map(([name, member]) => [name, comparable(member, names)]))
}

/**
 * Cursors, members that say when or by which job this organization made something, and the tasks that are open: a task
 * that a runner has waits where it is restored.
 */
const OWN = new Set([
  'next_cursor',
  'job_id',
  'computed_at',
  'detected_at',
  'since',
  'pending',
  'leased',
])

const LAB = encodeURIComponent('lab\u{1F9EA} "x"')
const CELLS = '/eval-scores/aggregate?name=reward'
const PATHS = [
  '/traces?limit=100',
  '/traces?limit=100&project=Payments',
  '/traces?limit=100&verdict=repair',
  '/traces?limit=100&q=money',
  '/traces?limit=100&tag=odd&agent_name=clerk',
  '/traces?limit=100&session_id=refunds',
  '/traces/stats',
  '/traces/eval/stats',
  '/traces/eval/histogram',
  `/traces/eval/stats?project=${LAB}`,
  CELLS,
  '/traces/refund-3',
  '/traces/refund-3/decision',
  '/traces/refund-3/eval-scores',
  '/traces/value-0/spans',
  '/traces/skilled',
  '/agents?project=default',
  '/agents?project=Payments',
  `/agents?project=${LAB}`,
  '/agents/topology',
  '/agents/shop/topology',
  '/agents/shop/violations',
  '/agents/writer/bisect?project=Payments',
  '/manifests?agent_name=shop',
  '/evaluators',
  '/decision-policy',
  '/decision-policy/versions',
  '/redaction-settings',
  '/skills',
  '/skills/refunds',
  '/skills/refunds/attachments',
  '/skills/refunds/subscriptions',
  '/skills/analytics/metrics',
  '/datasets',
  '/replay/batches',
  '/regression-check',
]
