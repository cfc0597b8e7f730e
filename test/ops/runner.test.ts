import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { bareEnv } from '../support/bare-env.ts'
import { until } from '../support/until.ts'

const python = spawnSync('python3', ['--version']).status === 0
/** What a command prints, and what is submitted of it. */
const PRINTED: [string, object][] = [
  [`{"status":"error","llm_calls":[]}`, { trace: { status: 'error', llm_calls: [] } }],
  [
    `{"status":"completed","final_output_preview":"x","eval_score":1}`,
    { trace: { status: 'completed', final_output_preview: 'x', eval_score: 1 }, eval_score: 1 },
  ],
  [`{"status":"failed","spans":[]}`, { trace: { status: 'failed', spans: [] } }],
  [
    `{"status":"completed","trace":{},"trace_id":"t"}`,
    { status: 'completed', trace: {}, trace_id: 't' },
  ],
  [`{"task_id":"t"}`, { trace: { task_id: 't' } }],
  [`{"eval_score":0.5,"trace":{}}`, { eval_score: 0.5, trace: {} }],
  [`{"replayed_trace_id":"r"}`, { replayed_trace_id: 'r' }],
  [`{"status":"skipped","error":"no tools"}`, { status: 'skipped', error: 'no tools' }],
]

t.test('the reference runner', async (t) => {
  t.test('gives each task to the command, submits what it prints, and ends', async (t) => {
    const { run, sent } = await openService(t, ['one', 'two'])
    const { code, stderr } = await run(
      ['--batch', 'b', '--agent', 'a', '--concurrency', '3'],
      'cat',
    )
    t.equal(code, 0)
    t.same(stderr.trim().split('\n').sort(), ['one: completed win', 'two: completed win'])
    t.match(sent('claim')[0], {
      batch_id: 'b',
      agent_name: 'a',
      max: 3,
      lease_seconds: 60,
      worker_id: /^.+:\d+$/,
    })
    const trace = (id: string) => ({ id, task_input: { user_input: 'hi' } })
    t.same(
      new Set(sent('submit')),
      new Set([
        { trace: trace('one'), status: 'completed', lease_token: 'token of one' },
        { trace: trace('two'), status: 'completed', lease_token: 'token of two' },
      ]),
    )
  })

  t.test('understands a trace, a result and a submission', async (t) => {
    const tried = PRINTED.map(async ([text, result]) => {
      const { run, sent } = await openService(t, ['one'])
      await run([], `echo '${text}'`)
      t.same(
        sent('submit'),
        [{ status: 'completed', ...result, lease_token: 'token of one' }],
        text,
      )
    })
    await Promise.all(tried)
  })

  t.test('gives a task back when the command fails', async (t) => {
    const faults: [string, string[], string][] = [
      ['echo no model >&2; exit 3', [], 'exit code 3\nno model'],
      ['echo hello', [], 'It printed no JSON object'],
      ['echo []', [], 'It printed no JSON object'],
      ['kill -9 $$', [], 'SIGKILL'],
      [
        'exec sleep 60',
        ['--timeout', '1'],
        'TimeoutError: The operation was aborted due to timeout',
      ],
    ]
    const tried = faults.map(async ([command, options, error]) => {
      const { run, sent } = await openService(t, ['one'])
      const { code, stderr } = await run(options, command)
      t.equal(code, 0)
      t.equal(stderr, `one: ${error}\none: pending\n`, 'and tells why')
      const failed = { status: 'failed', error, retry: true, lease_token: 'token of one' }
      t.same(sent('submit'), [failed], command)
    })
    await Promise.all(tried)
  })

  t.test('runs again what was given back while a claim was answered', async (t) => {
    const submitted = Promise.withResolvers<void>()
    const { run, sent } = await openService(t, [], {
      claim: async (nth) => {
        if (nth === 1) await submitted.promise
        const tasks = nth === 0 || nth === 2 ? [taskOf('one')] : []
        return { status: 200, body: { tasks } }
      },
      submit: () => submitted.resolve(),
    })
    t.equal((await run([], 'exit 1')).code, 0)
    t.equal(sent('submit').length, 2)
  })

  t.test('sends the same again until it is answered', async (t) => {
    const trouble: Answer[] = [
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 503, headers: { 'retry-after': '0' } },
      'hang up',
    ]
    const { run, sent } = await openService(t, ['one'], {
      claim: (nth) => trouble[nth],
      submit: (nth) => trouble[nth],
    })
    const { code, stderr } = await run([], 'cat')
    t.equal(code, 0)
    t.equal(sent('submit').length, 4)
    t.equal(stderr.match(/is tried again: status 429 \{\}\n/g)?.length, 2, 'and says so once')
    t.equal(new Set(sent('submit').map((body) => JSON.stringify(body))).size, 1)
  })

  t.test('keeps its lease while the command runs', async (t) => {
    const { free, wait } = openGate(t.testdir())
    const { run, sent } = await openService(t, ['one'], {
      heartbeat: (nth) => (nth === 2 ? free() : undefined),
    })
    await run(['--lease', '1'], `${wait}; cat`)
    t.match(sent('heartbeat')[0], { lease_token: 'token of one', lease_seconds: 1 })
    t.equal(sent('submit').length, 1)
  })

  t.test('submits what it has though a heartbeat is not answered', async (t) => {
    const { free, wait } = openGate(t.testdir())
    const { start, sent } = await openService(t, ['one'], {
      heartbeat: () => {
        free()
        return 'never'
      },
    })
    const { ended } = start(['--until-empty', '--lease', '1'], `${wait}; cat`)
    await until(() => sent('submit').length === 1)
    t.equal((await ended).code, 0)
  })

  t.test('ends the command and submits nothing when the lease is lost', async (t) => {
    const { run, sent } = await openService(t, ['one'], { heartbeat: () => LOST })
    const { code, stderr } = await run(['--lease', '1'], 'exec sleep 60')
    t.equal(code, 0)
    t.equal(stderr, 'one: is no longer ours\n')
    t.same(sent('submit'), [])
  })

  t.test('leaves a result alone that comes too late', async (t) => {
    const { run, sent } = await openService(t, ['one'], { submit: () => LOST })
    const { code, stderr } = await run([], 'cat')
    t.equal(code, 0)
    t.equal(stderr, 'one: The lease is lost\n')
    t.equal(sent('submit').length, 1)
  })

  t.test('tells the service why a result cannot be taken', async (t) => {
    const refusal = { status: 422, body: { detail: 'no trace' } }
    const { run, sent } = await openService(t, ['one'], {
      submit: (nth) => (nth === 0 ? refusal : undefined),
    })
    t.equal((await run([], 'cat')).code, 1)
    t.match(sent('submit')[1], { status: 'failed', error: 'The result was refused: no trace' })
    t.notOk((sent('submit')[1] as { retry?: boolean }).retry, 'the next one would be no other')
  })

  t.test('says in its exit code that a task has failed for good', async (t) => {
    const failed = { status: 200, body: { status: 'failed', comparison: { outcome: 'loss' } } }
    const { run } = await openService(t, ['one', 'two'], { submit: () => failed })
    const { code, stderr } = await run(['--concurrency', '1'], 'echo no model >&2; exit 3')
    t.equal(code, 1)
    const lines = (id: string) => `${id}: exit code 3\nno model\n${id}: failed loss\n`
    t.equal(stderr, lines('one') + lines('two'))
  })

  t.test('gives back what it has and ends where the command cannot be started', async (t) => {
    for (const command of ['no-such-command', 'ops/runner.ts/no-folder']) {
      const { run, sent } = await openService(t, ['one', 'two', 'three'])
      const { code, stderr } = await run(['--concurrency', '2', '--', command])
      t.equal(code, 1)
      t.match(stderr, new RegExp(`^The command ${command} cannot be started: spawn .*E\\w+\n`))
      t.match(sent('submit'), Array(2).fill({ status: 'failed', error: /spawn/, retry: true }))
      t.equal(sent('claim').length, 1)
    }
  })

  t.test('ends where it can do no more', async (t) => {
    const refusal = { status: 402, body: { detail: 'quota' } }
    const poor = await openService(t, ['one', 'two'], { submit: () => refusal })
    const { code, stderr } = await poor.run(['--concurrency', '1'], 'cat')
    t.equal(code, 1)
    t.match(stderr, /quota/)
    t.equal(poor.sent('submit').length, 1)
    const unknown = await openService(t, [], {
      claim: () => ({ status: 401, body: { detail: 'Invalid API key' } }),
    })
    t.match(await unknown.run([], 'cat'), { code: 1, stderr: /Invalid API key/ })
  })

  t.test('says why nobody answers', async (t) => {
    const { start } = await openService(t, [])
    const BASE = 'http://127.0.0.1:2/api/v1'
    const runner = start([], 'cat', { BASE })
    await once(runner.child.stderr, 'data')
    runner.child.kill('SIGTERM')
    const stderr = '/replay/tasks/claim is tried again: fetch failed: ECONNREFUSED\n'
    t.match(await runner.ended, { code: 0, stderr })
  })

  t.test('ends where something else answers', async (t) => {
    const body = '<html>\nno such page</html>'
    const tried = [404, 200].map(async (status) => {
      const { run } = await openService(t, [], { claim: () => ({ status, body }) })
      t.match(await run([], 'cat'), { code: 1, stderr: `status ${status} <html>` })
    })
    await Promise.all(tried)
    const { run, sent } = await openService(t, ['one'], { submit: () => ({ status: 413, body }) })
    t.match(await run([], 'cat'), { code: 0, stderr: /one: status 413 <html>/ })
    t.match(sent('submit')[1], { status: 'failed' })
  })

  t.test('says how it is used before it claims anything', async (t) => {
    const faults: [string[], RegExp][] = [
      [['--lease', 'abc'], /^--lease is a whole number from 1 to 3600\nUsage/],
      [['--lease', '0'], /--lease/],
      [['--concurrency', '0'], /--concurrency/],
      [['--concurrency', '51'], /--concurrency/],
      [['--timeout', '1.5'], /--timeout/],
      [['--grace', ''], /--grace/],
      [['--unknown'], /^Unknown option '--unknown'[^]*\nUsage/],
    ]
    const { run, start, sent } = await openService(t, ['one'])
    const tried = faults.map(async ([options, stderr]) => {
      t.match(await run(options, 'cat'), { code: 2, stderr }, options.join(' '))
    })
    await Promise.all(tried)
    t.match(await run([]), { code: 2, stderr: /^There is no command\nUsage/ })
    t.match(await start([], 'cat', { KEY: '' }).ended, { code: 2, stderr: /^KEY[^]*Usage/ })
    const BASE = 'localhost:3000/api/v1'
    t.match(await start([], 'cat', { BASE }).ended, { code: 2, stderr: /^BASE[^]*Usage/ })
    t.same(sent('claim'), [])
  })

  t.test('finishes what runs when it is told to stop', async (t) => {
    const { start, sent } = await openService(t, ['one', 'two'])
    const { free, wait, isReached } = openGate(t.testdir())
    const runner = start(['--concurrency', '1'], `${wait}; cat`)
    await isReached()
    runner.child.kill('SIGTERM')
    free()
    t.equal((await runner.ended).code, 0)
    t.same(sent('submit').length, 1, 'and claims nothing more')
  })

  t.test('lets a command go on that Ctrl-C at a terminal meets, too', async (t) => {
    const { start, sent } = await openService(t, ['one'])
    const { free, wait, isReached } = openGate(t.testdir())
    const runner = start([], `${wait}; cat`)
    await isReached()
    process.kill(-(runner.child.pid ?? NaN), 'SIGINT')
    free()
    t.equal((await runner.ended).code, 0)
    t.match(sent('submit'), [{ status: 'completed' }])
  })

  t.test('ends what runs at the second signal, with the programs that it started', async (t) => {
    const { start, sent } = await openService(t, ['one'])
    const folder = t.testdir()
    const held = join(folder, 'held')
    spawnSync('mkfifo', [held])
    const released = readFile(held)
    const { wait, isReached } = openGate(folder)
    const runner = start([], `exec 3>${held}; sleep 300 >&3 & ${wait}`)
    await isReached()
    runner.child.kill('SIGHUP')
    runner.child.kill('SIGINT')
    t.equal((await runner.ended).code, 0)
    t.match(sent('submit'), [{ status: 'failed', error: 'The runner was stopped', retry: true }])
    t.equal((await released).length, 0)
  })

  t.test('gives back what goes on for too long then', async (t) => {
    const { start, sent } = await openService(t, ['one'])
    const { wait, isReached } = openGate(t.testdir())
    const runner = start(['--grace', '0'], wait)
    await isReached()
    runner.child.kill('SIGTERM')
    t.equal((await runner.ended).code, 0)
    const error = 'The runner was stopped'
    t.same(sent('submit'), [{ status: 'failed', error, retry: true, lease_token: 'token of one' }])
  })
})

t.test('the runner in Python', { skip: !python && 'no python3 here' }, async (t) => {
  const docs = readFileSync('ops/docs/replay.md', 'utf8')
  const [, code = ''] = /```python\n([\s\S]*?)```/.exec(docs) ?? []
  const file = join(t.testdir(), 'runner.py')
  // A third of it passes before the first heartbeat.
  writeFileSync(file, code.replace('LEASE_SECONDS = 60', 'LEASE_SECONDS = 0.3'))
  const open = async (t: Test, tasks: readonly string[], answers?: Answers) => {
    const { launch, sent } = await openService(t, tasks, answers)
    const run = (command: string) => launch('python3', [file, 'sh', '-c', command]).ended
    return { run, sent }
  }

  t.test('understands a trace, a result and a submission', async (t) => {
    for (const [text, result] of PRINTED) {
      const { run, sent } = await open(t, ['one'])
      t.equal((await run(`echo '${text}'`)).code, 0)
      const submitted = { status: 'completed', ...result, lease_token: 'token of one' }
      t.same(sent('submit'), [submitted], text)
    }
  })

  t.test('gives a task back when the command fails, and goes on', async (t) => {
    for (const [command, error] of [
      ['echo no model >&2; exit 3', /^exit code 3\nno model\n$/],
      ['echo hello', /^Expecting value/],
      ['echo 7', /^It printed no JSON object/],
      ['kill -9 $$', /^exit code -9/],
    ] as const) {
      const { run, sent } = await open(t, ['one', 'two'])
      t.equal((await run(command)).code, 0)
      const failed = { status: 'failed', error, retry: true }
      t.match(sent('submit'), [failed, failed], command)
    }
  })

  t.test('ends the command when the lease is lost', async (t) => {
    const { run, sent } = await open(t, ['one'], { heartbeat: () => LOST, submit: () => LOST })
    t.equal((await run('exec sleep 60')).code, 0)
    t.match(sent('submit'), [{ status: 'failed', error: /exit code -9/ }])
  })

  t.test('tells the service why a result cannot be taken', async (t) => {
    const refusal = { status: 422, body: { detail: 'no trace' } }
    const { run, sent } = await open(t, ['one'], {
      submit: (nth) => (nth === 0 ? refusal : undefined),
    })
    t.equal((await run('cat')).code, 0)
    const error = 'The result was refused: no trace'
    t.same(sent('submit')[1], { status: 'failed', error, lease_token: 'token of one' })
  })

  t.test('ends where it can do no more', async (t) => {
    for (const status of [401, 402, 403]) {
      const refusal = { status, body: { detail: 'quota' } }
      const { run, sent } = await open(t, ['one', 'two'], { submit: () => refusal })
      t.match(await run('cat'), { code: 1, stderr: /quota/ })
      t.equal(sent('claim').length, 1)
    }
  })
})

type Operation = 'claim' | 'heartbeat' | 'submit'
type Awaitable<T> = T | Promise<T>
type Answer =
  'hang up' | 'never' | { status: number; headers?: Record<string, string>; body?: object | string }
type Answers = Partial<Record<Operation, (nth: number) => Awaitable<Answer | undefined | void>>>
const LOST = { status: 409, body: { code: 'lease_lost', detail: 'The lease is lost' } }

/**
 * A service that gives out tasks and takes whatever is submitted.
 * @param answers what it answers instead to the nth request of an operation, from 0
 */
async function openService(t: Test, tasks: readonly string[], answers: Answers = {}) {
  const bodies: Record<Operation, object[]> = { claim: [], heartbeat: [], submit: [] }
  const left = [...tasks]
  const usual = {
    claim: (body: { max: number }) => ({
      tasks: left.splice(0, body.max).map(taskOf),
    }),
    heartbeat: () => ({ leased_until: '2026-01-01T00:00:00Z' }),
    submit: ({ status, retry }: { status?: string; retry?: boolean }) =>
      retry ? { status: 'pending' } : { status, comparison: { outcome: 'win' } },
  }
  async function answer(request: IncomingMessage, response: ServerResponse) {
    const operation = (request.url ?? '').split('/').at(-1) as Operation
    const body = (await json(request)) as { max: number }
    const nth = bodies[operation].push(body) - 1
    const given = (await answers[operation]?.(nth)) ?? { status: 200, body: usual[operation](body) }
    if (given === 'hang up') return void request.socket.destroy()
    if (given === 'never') return
    response.writeHead(given.status, given.headers ?? {})
    response.end(typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? {}))
  }
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })

  function launch(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = spawn(program, args, {
      // As the shell of a terminal does.
      detached: true,
      env: {
        ...bareEnv(),
        BASE: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
        KEY: 'svc_sk_1',
        ...env,
      },
    })
    let stderr = ''
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }))
    t.teardown(() => child.kill('SIGKILL'))
    return { child, ended }
  }
  /** @param command of a shell */
  function start(options: readonly string[], command?: string, env: NodeJS.ProcessEnv = {}) {
    const shell = command === undefined ? [] : ['--', 'sh', '-c', command]
    return launch(process.execPath, ['ops/runner.ts', ...options, ...shell], env)
  }
  return {
    launch,
    /** Bodies of the requests to an operation. */
    sent: (operation: Operation) => bodies[operation],
    start,
    run: (options: readonly string[], command?: string) =>
      start(['--until-empty', ...options], command).ended,
  }
}

function taskOf(id: string) {
  return {
    id,
    task_input: { user_input: 'hi' },
    lease_token: `token of ${id}`,
    leased_until: '2026-01-01T00:00:00Z',
  }
}

/** What a command waits for until the test lets it go on. */
function openGate(folder: string) {
  const [reached, open] = [join(folder, 'reached'), join(folder, 'open')]
  return {
    wait: `touch ${reached}; until [ -e ${open} ]; do sleep 0.02; done`,
    isReached: () => until(() => existsSync(reached)),
    free: () => writeFileSync(open, ''),
  }
}
