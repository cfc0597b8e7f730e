import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { insertEvaluator } from '../../../sql/evals/evaluators.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

t.test('judging traces that end in megabytes takes the memory of few of them', async (t) => {
  const { sql, url, makeOrganization } = await openService(t)
  const { orgId, projectId } = await makeOrganization()
  await insertEvaluator(sql, orgId, {
    id: '01980000-0000-7000-8000-000000000001',
    project_id: projectId,
    name: 'is_json',
    type: 'json_valid',
    eval_type: 'deterministic',
    agent_name: '',
    display_name: null,
    category: null,
    description: null,
    prompt_template: null,
    threshold: null,
    config: {},
  })
  const ids = Array.from({ length: 100 }, (_, i) => `long-${i}`)
  const output = 'x'.repeat(3_000_000)
  for (const trace_id of ids) {
    const messages = [
      { role: 'user', content: trace_id },
      { role: 'assistant', content: output },
    ]
    await storeJudged(sql, { orgId, projectId }, [{ trace_id, messages, verdict: null }])
  }
  const thread = new Worker(JUDGE, {
    eval: true,
    workerData: { root: new URL('../../../', import.meta.url).href, url, orgId, projectId, ids },
    resourceLimits: { maxOldGenerationSizeMb: 150 },
  })
  const [judged] = (await once(thread, 'message')) as [number]
  t.equal(judged, ids.length)
  const scores =
    await sql`select value from eval_scores where org_id = ${orgId} and name = 'is_json'`
  t.same(
    scores.map(({ value }) => value as number),
    ids.map(() => 0),
  )
})

/** In a thread, because only a thread has a bound to its memory of its own. */
const JUDGE = `
  const { parentPort, workerData: { root, url, orgId, projectId, ids } } = require('node:worker_threads')
  async function main() {
    const { openDatabase } = await import(root + 'sql/core/db.ts')
    const { judgeTraces } = await import(root + 'sql/transactions/judge-traces.ts')
    const sql = openDatabase(url)
    const queue = { enqueue: async () => null }
    const { judged } = await sql.begin((tx) => judgeTraces(tx, queue, orgId, projectId, ids))
    await sql.end()
    parentPort.postMessage(judged.length)
  }
  main()
`
