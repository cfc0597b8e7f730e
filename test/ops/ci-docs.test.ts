import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { CHECK_VERDICTS } from '../../jobs/rules/regression/check-findings.ts'
import { checkRegressionHandler } from '../../workers/regression/check-regression.ts'
import { registeredAgent } from '../support/registered-agent.ts'
import { openService } from '../support/service.ts'

const docs = readFileSync('ops/docs/ci.md', 'utf8')
const SCRIPT = scriptOf(docs)
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)
const options = { skip: missing.length > 0 && `no ${missing.join(', ')} here` }

const service = await openService(t, { host: '127.0.0.1', port: 0 })
await service.server.start()
await service.startWorkers([checkRegressionHandler])

const tool = (name: string, more: object = {}) => ({
  component_type: 'tool',
  component_name: name,
  schema_json: {
    input_schema: { type: 'object', properties: { [name]: { type: 'string', ...more } } },
  },
})
const V1 = [tool('search'), tool('refund')]

t.test('every verdict has its exit in the documentation', async (t) => {
  for (const verdict of CHECK_VERDICTS) t.ok(docs.includes(`| \`${verdict}\` `), verdict)
})

t.test('the first run passes and becomes the baseline', options, async (t) => {
  const agent = await registeredAgent(service)
  t.match(await runScript(t, agent.key, V1), { code: 0, out: /first_run/ })
  t.match(await runScript(t, agent.key, V1), { code: 0, out: /no_change/ })
  const { body } = await agent.client.get('/regression-check')
  t.match(body.regression_checks[0], {
    source: 'ci',
    pr_context: { repo: 'acme/agent', pr_number: 7, branch: 'try', commit_sha: 'abc' },
  })
  const { body: listed } = await agent.client.get('/manifests?status=draft')
  t.equal(listed.total, 1, 'the candidate stays a draft')
})

t.test('a change that nothing measures fails only when it may be grave', options, async (t) => {
  const agent = await registeredAgent(service)
  await agent.register(V1)
  t.match(await runScript(t, agent.key, [tool('search')]), { code: 1, out: /unverified/ })
  const added = await runScript(t, agent.key, [...V1, tool('more')])
  t.match(added, { code: 0, out: /::warning::unverified/ })
})

t.test('high risk fails, medium risk warns, low risk passes', options, async (t) => {
  const agent = await registeredAgent(service)
  const v1 = await agent.register(V1)
  await agent.traces(v1, 3, { tool: 'search' })
  const removed = await runScript(t, agent.key, [tool('refund')])
  t.match(removed, { code: 1, out: /high_risk[\s\S]*- high: tool search/ })
  const bounded = tool('search', { minLength: 1 })
  const medium = await runScript(t, agent.key, [bounded, V1[1]])
  t.match(medium, { code: 0, out: /::warning::medium_risk/ })
  t.match(await runScript(t, agent.key, [tool('search')]), { code: 0, out: /low_risk/ })
})

t.test('a confirmed drop of the scores fails the check', options, async (t) => {
  const agent = await registeredAgent(service)
  const v1 = await agent.register(V1)
  await agent.traces(v1, 40, { tool: 'search', quality: (i) => 0.9 - (i % 2) / 10 })
  const v2 = await agent.register([tool('search')])
  await agent.traces(v2, 40, { tool: 'search', quality: (i) => 0.5 - (i % 2) / 10 })
  await agent.client.post(`/manifests/${v1}/activate`)
  const candidate = [tool('search')]
  t.match(await runScript(t, agent.key, candidate), {
    code: 1,
    out: /high_risk[^]*dropped by 0\.4/,
  })
})

t.test('a refusal is no verdict', options, async (t) => {
  const { code, err } = await runScript(t, 'svc_sk_wrong', V1)
  t.equal(code, 2)
  t.match(err, 'Invalid API key')
})

async function runScript(t: Test, key: string, components: unknown[]) {
  const dir = t.testdir()
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ agent_name: 'agent', components }))
  const child = spawn('bash', ['-c', SCRIPT], {
    cwd: dir,
    env: {
      PATH: process.env['PATH'],
      API_URL: service.server.info.uri,
      API_KEY: key,
      MANIFEST: 'manifest.json',
      REPO: 'acme/agent',
      PR_NUMBER: '7',
      BRANCH: 'try',
      COMMIT_SHA: 'abc',
    },
  })
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number, out, err }
}

/** The shell part of the workflow, as GitHub runs it: without its indentation. */
function scriptOf(markdown: string) {
  const block = /\n( *)run: \|\n([\s\S]*?)```/.exec(markdown)?.[2]
  if (!block) throw new Error('The document has no script')
  const indentation = /^ */.exec(block)?.[0].length ?? 0
  return block
    .split('\n')
    .map((line) => line.slice(indentation))
    .join('\n')
}
