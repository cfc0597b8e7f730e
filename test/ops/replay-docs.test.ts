import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

const python = spawnSync('python3', ['--version']).status === 0

t.test('what the document on replays shows', async (t) => {
  const { client, folder, run, codeOf, runShell } = await openDocumented(t, 'replay.md')
  const { get, post } = client

  await t.test('leads from a verdict to a pair', async (t) => {
    const printed = await runShell()
    t.equal(printed.length, 6)
    const [, , , replayed, built, exported] = printed
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
