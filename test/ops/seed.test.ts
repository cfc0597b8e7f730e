import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { launch, makeFolder, start } from '../support/started.ts'
import { until } from '../support/until.ts'

const DEMO = { SEED: '' }

t.test('sample data', async (suite) => {
  const DATA_DIR = await makeFolder(suite)
  const cut = launch(suite, { DATA_DIR, ...DEMO })
  await until(() => /traces imported|not complete|Stopping/.test(cut.output()))
  cut.child.kill('SIGKILL')
  await once(cut.child, 'exit')
  const service = await start(suite, { DATA_DIR, ...DEMO })

  suite.test('goes on at the next start when it was cut short', async (t) => {
    t.match(cut.output(), /420 traces imported, 0 were there already/)
    t.match(service.output(), /0 traces imported, 420 were there already/)
    t.match(service.output(), /Verdicts: \d{3} keep, \d+ repair, \d+ replay, \d+ drop\./)
    t.match(service.output(), /128 of 128 traces of v1 need a replay; .* 1 regression found\./)
    t.match(
      service.output(),
      /Replay batch: 5 traces of v1 .* BASE=http:\S+\/api\/v1 KEY=YOUR_KEY npx node ops\/runner\.ts --batch [0-9a-f-]{36} --/,
    )
    t.match(service.output(), /Dataset support-sft v1: \d{3} rows, Parquet \d+ kB\./)
    t.match(service.output(), /Dataset support-dpo v1: \d+ rows, Parquet \d+ kB\./)
  })

  suite.test('shows a newer manifest that does worse', async (t) => {
    const query = 'agent_name=support-agent&name=task_solved&group_by=manifest'
    const rates = await until(async () => {
      const { body } = await service.get(`/eval-scores/aggregate?${query}`)
      const { groups, stale } = body as { groups: { pass_rate: number }[]; stale: boolean }
      return (
        !stale &&
        groups.length === 2 &&
        groups.map(({ pass_rate }) => pass_rate).sort((a, b) => a - b)
      )
    })
    t.ok((rates[1] ?? 0) - (rates[0] ?? 0) > 0.15, `${rates[0]} and ${rates[1]}`)
    t.match((await service.get('/agents/support-agent/bisect')).body, {
      versions: [{ version_label: 'v1' }, { version_label: 'v2' }],
      findings: [{ version_label: 'v2', previous_version_label: 'v1' }],
    })
    t.match((await service.get('/agents/support-agent/violations')).body, { total: 0 })
  })

  suite.test('has tasks for a runner', async (t) => {
    const { body } = await service.post('/replay/tasks/claim', {
      worker_id: 'test',
      max: 50,
      agent_name: 'support-agent',
    })
    const { tasks } = body as { tasks: object[] }
    t.equal(tasks.length, 5)
    t.match(tasks[0], { replayability: 'full', task_input: { agent_name: 'support-agent' } })
  })

  suite.test('comes with five lines that work when pasted', async (t) => {
    const lines = service.output().match(/^ {2}curl .*$/gm) ?? []
    t.equal(lines.length, 5)
    const folder = t.testdir()
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', lines.join('; echo\n')], {
      cwd: folder,
    })
    const [traces, pushed, decision, built] = stdout.split('\n').map((line) => parse(line))
    t.match(traces, { traces: { length: 3 } })
    t.match(pushed, { trace_id: 'hello-1', created: true })
    t.match(decision, { trace_id: 'hello-1' })
    t.match(built, { version_number: 2, status: 'ready' })
    const file = await readFile(join(folder, 'support-sft.parquet'), 'latin1')
    t.equal(file.slice(0, 4) + file.slice(-4), 'PAR1PAR1')
  })

  suite.test('goes on behind the screen, with something for every page', async (t) => {
    await until(() => /data is complete|not complete/.test(service.output()))
    t.match(service.output(), /The sample data is complete\./)
    const read = async (path: string) => (await service.get(path)).body
    const { by_reason: reasons } = (await read('/traces/stats')) as { by_reason: object }
    const expected = `compat.model_runtime_changed compat.tool_schema_changed_repairable
      contract.outcome duplicate.exact malformed.empty malformed.orphan_tool_result malformed.role
      output.corrected policy.consent score.bad score.conflict score.good score.middling step.masked`
    t.same(Object.keys(reasons).sort(), expected.split(/\s+/))
    const { findings } = (await read('/agents/billing-agent/bisect')) as { findings: Finding[] }
    const states = findings.map(({ version_label, status }) => `${version_label} ${status}`)
    t.same(states.sort(), ['v2 resolved', 'v5 open'])
    t.match(await read('/regression-check?agent_name=billing-agent'), {
      regression_checks: [
        { verdict: 'low_risk', human_decision: null },
        { verdict: 'high_risk', human_decision: 'rejected' },
      ],
    })
    t.match(await read('/agents/triage-agent/violations?since=2020-01-01T00:00:00Z'), { total: 22 })
    t.match(await read('/replay/batches?agent_name=billing-agent'), {
      batches: [
        { counts: { pending: 4, completed: 6, failed: 1, skipped: 1 }, wins: 4, losses: 2 },
      ],
    })
    t.match(await read('/datasets?limit=2'), {
      datasets: [{ name: 'billing-dpo' }, { name: 'billing-sft' }],
    })
    t.match(await read('/import?limit=2'), {
      imports: [
        { source: 'langfuse', losses: { comment_dropped: 3 } },
        { source: 'traces', error_count: 6 },
      ],
    })
    t.match(await read('/decision-policy/versions?agent_name=billing-agent'), { total: 2 })
    t.match(await read('/skills'), { total: 6 })
    const { deliveries } = (await read('/org/webhook-deliveries?status=delivered')) as {
      deliveries: { id: string }[]
    }
    t.equal(deliveries.length, 1)
    t.match(await read(`/org/webhook-deliveries/${deliveries[0]?.id}`), {
      redelivery_of: String,
      attempts: [{ status_code: 200, error: null }],
    })
  })

  suite.test('is not made again', async (t) => {
    const { total: traces } = (await service.get('/traces/stats')).body as { total: number }
    service.child.kill('SIGINT')
    await once(service.child, 'exit')
    const again = await start(suite, { DATA_DIR, ...DEMO })
    t.notMatch(again.output(), /sample|Dataset/)
    t.equal((again.output().match(/^ {2}curl .*$/gm) ?? []).length, 5)
    const { body } = await again.get('/traces/stats')
    t.equal((body as { total: number }).total, traces)
  })
})

interface Finding {
  readonly version_label: string
  readonly status: string
}

function parse(line: string) {
  return line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : undefined
}
