import { setTimeout } from 'node:timers/promises'
import { detectViolations } from '../../jobs/detect-violations.ts'
import { importTraces } from '../../jobs/import-traces.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import type { Attack, Stage } from './attack-stage.ts'
import { peakMiB } from './figures.ts'

/**
 * A trace that is small as sent and large once opened is imported and sent, and so reaches the workers, while
 * the traces of another organization are examined. Told is what the jobs of that organization lost by it.
 */
export const poisonTrace: Attack = {
  name: 'poison-trace',
  async run(stage) {
    const { sql, other, attacker, isSmall } = stage
    const workers = await stage.startWorkers('import,evals')
    for (const { key } of [attacker, other]) await registerManifest(stage, key)
    const spans = `${'{},'.repeat(isSmall ? 100_000 : 1_700_000)}{}`
    const poison = `{"trace_id":"poison","agent_name":"support","spans":[${spans}]}\n`
    const headers = { 'content-type': 'application/x-ndjson', prefer: 'respond-async' }
    await stage.send('/api/v1/import/jsonl?source=auto', { body: poison, headers })
    await stage.send('/api/v1/traces', { body: poison })
    const batches = isSmall ? 2 : 10
    for (let batch = 0; batch < batches; batch++) {
      await stage.send('/api/v1/traces/batch', { key: other.key, body: goodTraces(batch) })
      await setTimeout(isSmall ? 100 : 1000)
    }
    const orgs = [attacker.owner.org_id, other.owner.org_id]
    const deadline = performance.now() + (isSmall ? 5000 : 90_000)
    while (performance.now() < deadline && (await countOpen(stage, orgs)) > 0) {
      await setTimeout(POLL_MS)
    }
    const [lost] = await sql`
      select count(*) filter (where retry_count > 0)::int as "othersTriedAgain",
        count(*) filter (where state = 'failed')::int as "othersFailed",
        count(*) filter (where state < 'completed')::int as "othersOpen"
      from pgboss.job where name = any(${QUEUES}) and data->>'org_id' = ${other.owner.org_id}`
    return { ...lost, workersPeakMib: await peakMiB(workers.pid).catch(() => null) }
  },
}

async function registerManifest(stage: Stage, key: string) {
  const schema_json = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const component = { component_type: 'tool', component_name: 'find', schema_json }
  const body = JSON.stringify({ agent_name: 'support', components: [component], activate: true })
  await stage.send('/api/v1/manifests', { key, body })
}

function goodTraces(batch: number) {
  const traces = Array.from({ length: 100 }, (_, i) => ({
    trace_id: `good-${batch}-${i}`,
    agent_name: 'support',
    llm_calls: [{ tool_calls: [{ tool_name: 'find', args: { id: String(i) } }] }],
  }))
  return JSON.stringify({ traces })
}

async function countOpen({ sql }: Stage, orgs: readonly string[]) {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job
    where state < 'completed' and name = any(${QUEUES}) and data->>'org_id' = any(${orgs})`
  return row?.n ?? 0
}

/** Those that the two pools run for what is sent here. */
const QUEUES = [importTraces, judgeTraces, detectViolations].map(({ name }) => name)
const POLL_MS = 250
