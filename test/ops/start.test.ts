import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { bareEnv } from '../support/bare-env.ts'
import { isAlive, makeFolder, run, start } from '../support/started.ts'
import { until } from '../support/until.ts'

t.test('npm start', async (suite) => {
  const DATA_DIR = join(await makeFolder(suite), 'made/by/us')
  let service = await start(suite, { DATA_DIR })
  const { key } = service

  suite.test('ends with one screen whose address and key work', async (t) => {
    t.match(
      service.output(),
      /Address +http:\/\/127\.0\.0\.1:\d+\n +Console +http:.*\n +Docs +http:.*\/docs\n/,
    )
    t.equal((await fetch(`${service.address}/readyz`)).status, 200)
    t.equal((await fetch(`${service.address}/docs`)).status, 200)
    const log = await readFile(join(DATA_DIR, 'logs/api.log'), 'utf8')
    t.same(
      log.split('\n').filter((line) => !/^\{.*\}$|^$/.test(line)),
      [],
      'no warnings of Node.js',
    )
    t.equal((await service.get('/api-keys')).status, 200)
    const made = await service.post('/api-keys', { label: 'kept', scope: 'global' })
    t.equal(made.status, 201)
  })

  suite.test('prints a link that signs a browser in, once', async (t) => {
    const link = /Console +(\S+)/.exec(service.output())?.[1] ?? ''
    t.ok(link.startsWith(`${service.address}/console/sign-in/`), link)
    const open = () => fetch(link, { redirect: 'manual' })
    const opened = await open()
    t.equal(opened.status, 303)
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
    const me = await fetch(`${service.address}/api/v1/auth/me`, { headers: { cookie } })
    t.equal(me.status, 200)
    t.equal((await open()).status, 403)
    const log = await readFile(join(DATA_DIR, 'logs/api.log'), 'utf8')
    t.notMatch(log, link.split('/').at(-1) ?? '')
  })

  suite.test('what it makes can be used by its user alone, and the database runs', async (t) => {
    const upload = { method: 'POST', body: '{"agent_name":"a"}' }
    await fetch(`${service.address}/api/v1/import/jsonl`, {
      ...upload,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/jsonl' },
    })
    const modeOf = async (path: string) =>
      ((await stat(join(DATA_DIR, path))).mode & 0o777).toString(8)
    // Where root starts it, another user runs the database, and has to pass through.
    const passable = process.getuid?.() === 0 ? '711' : '700'
    for (const path of ['.', '..']) t.equal(await modeOf(path), passable, path)
    t.notMatch(service.output(), /cannot enter/)
    for (const path of ['storage', 'storage/imports', 'logs', 'postgres']) {
      t.equal(await modeOf(path), '700', path)
    }
    for (const path of ['storage/.storage', 'logs/api.log', 'init-api-key', 'master-key']) {
      t.equal(await modeOf(path), '600', path)
    }
  })

  suite.test('the admin command line finds its database', async (t) => {
    const env = { ...bareEnv(), DATA_DIR }
    const admin = promisify(execFile)(process.execPath, ['ops/admin.ts', 'doctor'], { env })
    t.match(JSON.parse((await admin).stdout), { ok: true })
  })

  suite.test('a second start on the same folder is told so in a sentence', async (t) => {
    const second = await run(t, { DATA_DIR })
    t.match(second, {
      code: 1,
      stderr: /^The database in .* is already being used by process \d+.*\n$/,
    })
  })

  suite.test('a child that dies comes back at its address', async (t) => {
    const [pid] = await service.pids('api')
    process.kill(pid as number, 'SIGKILL')
    await until(async () => (await service.pids('api')).length === 2)
    t.equal((await service.get('/api-keys')).status, 200)
    t.match(service.output(), /API ended unexpectedly \(SIGKILL\); starting again\./)
  })

  suite.test('a database that dies comes back at its address', async () => {
    const postmaster = Number(
      (await readFile(join(DATA_DIR, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0],
    )
    process.kill(postmaster, 'SIGKILL')
    await until(() => service.output().includes('The database ended unexpectedly'))
    await until(async () => (await service.get('/api-keys')).status === 200)
  })

  suite.test(
    'Ctrl-C leaves nothing running, also when npm passes it on a second time',
    async (t) => {
      const pids = await service.pids()
      t.ok(pids.length >= 5, `${pids.length} processes`)
      service.child.kill('SIGINT')
      service.child.kill('SIGINT')
      const [code] = (await once(service.child, 'exit')) as [number]
      t.equal(code, 0)
      t.notMatch(service.output(), /at once/)
      t.same(pids.filter(isAlive), [])
      await t.rejects(readFile(join(DATA_DIR, 'postgres/postmaster.pid')), { code: 'ENOENT' })
    },
  )

  suite.test('the next start makes nothing anew and has the data and the key', async (t) => {
    t.match(service.output(), /Creating a database/)
    service = await start(suite, { DATA_DIR })
    t.notMatch(service.output(), /Creating a database/)
    t.equal(service.key, key)
    const { body } = await service.get('/api-keys')
    t.match(body, { api_keys: [{ label: 'kept' }, { label: 'first key' }] })
  })

  suite.test(
    'children of a killed parent stop, and the next start takes the database over',
    async (t) => {
      const pids = await service.pids()
      service.child.kill('SIGKILL')
      await until(() => pids.every((pid) => !isAlive(pid)))
      service = await start(suite, { DATA_DIR })
      t.match(service.output(), /is running already/)
      t.equal((await service.get('/api-keys')).status, 200)
    },
  )
})
