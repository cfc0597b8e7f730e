import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { pools } from '../../workers/pools.ts'
import { openService } from '../support/service.ts'

const docs = readFileSync('ops/docs/replay.md', 'utf8')
const python = spawnSync('python3', ['--version']).status === 0

t.test('what the document on replays shows', async (t) => {
  const service = await openService(t)
  await service.startWorkers(Object.values(pools).flatMap(({ handlers }) => handlers))
  await service.server.start()
  const { key } = await service.makeOrganization()
  const { get, post } = service.client(key)
  // As in a checkout, where `npx node` finds its Node.js and the runner is.
  const folder = t.testdir()
  for (const name of ['node_modules', 'ops', 'package.json']) {
    symlinkSync(resolve(name), join(folder, name))
  }
  const env = { ...process.env, BASE: `${service.server.info.uri}/api/v1`, KEY: key }
  const run = (program: string, args: readonly string[]) =>
    new Promise<string>((done, reject) => {
      execFile(program, args, { cwd: folder, env }, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : done(stdout),
      )
    })

  await t.test('leads from a verdict to a pair', async (t) => {
    const blocks = codeOf('bash')
    t.equal(blocks.length, 6)
    const script = `set -euo pipefail\n${blocks.join(`\nprintf '\\n${CUT}\\n'\n`)}`
    const stdout = await run('bash', ['--norc', '-c', script])
    const [, , , replayed, built, exported] = stdout.split(`\n${CUT}\n`)
    t.match(JSON.parse(replayed ?? ''), {
      status: 'completed',
      counts: { completed: 1 },
      wins: 1,
      tasks: [{ trace_id: 'refund-7', comparison: { outcome: 'win', basis: 'given_score' } }],
    })
    const [version, row] = splitObjects(built)
    t.match(version, { status: 'ready', row_count: 1 })
    t.match(row, {
      chosen: [{ content: /Friday/ }],
      rejected: [{ content: 'I am sorry. There is nothing that we can do about it.' }],
      provenance: { pair_source: 'replay' },
    })
    const [prompts, session] = splitObjects(exported)
    t.match(prompts, {
      prompts: [
        {
          trace_id: 'refund-7',
          user_input: 'Order 7 came broken.',
          original_output: 'I am sorry. There is nothing that we can do about it.',
          replay_context: { changed_surfaces: [{ name: 'refund', reason: 'tool_missing' }] },
        },
      ],
    })
    t.notOk(session, 'the trace is of no session')
  })

  t.test('runs in Python too', { skip: !python && 'no python3 here' }, async (t) => {
    const { manifests } = (await get('/manifests?agent_name=refund-agent')).body
    const filters = { agent_name: 'refund-agent', verdicts: ['replay'] }
    const target_manifest_id = manifests[0].manifest_id as string
    const made = await post('/replay/batches', { target_manifest_id, filters })
    writeFileSync(join(folder, 'runner.py'), codeOf('python')[0] ?? '')
    const stdout = await run('python3', ['runner.py', process.execPath, 'agent.mjs'])
    t.match(stdout, / 200 completed\n$/)
    const { body } = await get(`/replay/batches/${made.body.id}`)
    t.match(body, { status: 'completed', counts: { completed: 1 }, wins: 1 })
  })
})

function codeOf(language: string) {
  const blocks = docs.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))
  return [...blocks].map(([, code]) => code as string)
}

/** The objects that a block prints, one after the other. */
function splitObjects(printed = ''): unknown[] {
  return printed
    .trim()
    .split(/(?<=\})\s*(?=\{)/)
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as unknown)
}

const CUT = '--- next block ---'
