import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { launch, makeFolder, start } from '../support/started.ts'
import { until } from '../support/until.ts'

const DEMO = { SEED: '' }

t.setTimeout(120_000)

t.test('sample data', async (suite) => {
  const DATA_DIR = await makeFolder(suite)
  const cut = launch(suite, { DATA_DIR, ...DEMO })
  await until(() => /traces imported|not complete|Stopping/.test(cut.output()), 60_000)
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
    const { body } = await service.post('/replay/tasks/claim', { worker_id: 'test', max: 50 })
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

  suite.test('is not made again', async (t) => {
    service.child.kill('SIGINT')
    await once(service.child, 'exit')
    const again = await start(suite, { DATA_DIR, ...DEMO })
    t.notMatch(again.output(), /sample|Dataset/)
    t.equal((again.output().match(/^ {2}curl .*$/gm) ?? []).length, 5)
    const { body } = await again.get('/traces/stats')
    t.match(body, { total: 421 })
  })
})

function parse(line: string) {
  return line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : undefined
}
