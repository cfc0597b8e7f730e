import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { makeKey } from '../../jobs/rules/access/api-key.ts'
import { findUser } from '../../ops/postgres-host.ts'
import { isPooled, openDatabase } from '../../sql/core/db.ts'
import { openTestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { findFreePort } from '../../ops/free-port.ts'
import { launch } from '../support/program.ts'

const found = spawnSync('/bin/sh', ['-c', 'PATH=$PATH:/usr/sbin; command -v pgbouncer'])
const program = found.stdout.toString().trim()
const skip = program === '' && 'there is no pgbouncer on this machine'
const WARNING = 'DATABASE_URL leads to a connection pooler'

t.test('behind PgBouncer in transaction mode', { skip }, async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const place = new URL(url)
  const pooled = await openBouncer(t, url, '')

  t.test('a pooler is found out, also one that swallows what it does not know', async (t) => {
    await t.rejects(openDatabase(pooled)`select 1`, { message: /unsupported startup parameter/ })
    t.equal(await isPooled(pooled), true)
    const ignored = 'statement_timeout,idle_in_transaction_session_timeout'
    const lenient = await openBouncer(t, url, `ignore_startup_parameters = ${ignored}`)
    t.equal(await isPooled(lenient), true)
    t.equal(await isPooled(url), false)
  })

  t.test('an empty database is set up and an import done by processes that poll', async (t) => {
    const empty = `${place.pathname.slice(1)}_pooled`
    await sql.unsafe(`create database ${empty}`)
    t.teardown(() => sql.unsafe(`drop database ${empty} with (force)`))
    const key = makeKey('svc_', randomBytes(64))
    const env = {
      DATABASE_URL: Object.assign(new URL(pooled), { pathname: `/${empty}` }).href,
      DATA_DIR: t.testdir(),
      INIT_API_KEY: key,
      LOG_LEVEL: 'info',
    }
    const [workers, api] = [launch(t, 'start-workers.ts', env), launch(t, 'start-api.ts', env)]
    const address = await until(() => /"address":"(http[^"]+)"/.exec(api.stderr())?.[1])
    const call = (method: string, path: string, body?: string) =>
      fetch(`${address}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/x-ndjson',
          prefer: 'wait=40',
        },
        ...(body && { body }),
      })
    const traces = Array.from({ length: 50 }, (_, n) =>
      JSON.stringify({ trace_id: `t${n}`, agent_name: 'a', final_output_preview: 'yes' }),
    )
    const imported = await call('POST', '/import/jsonl', traces.join('\n'))
    t.equal(imported.status, 200)
    const stored = await call('GET', '/traces?agent_name=a&limit=100')
    t.equal(((await stored.json()) as { traces: object[] }).traces.length, 50)

    for (const { stderr } of [workers, api]) {
      t.equal(stderr().split(WARNING).length - 1, 1, 'each process warns once')
      t.notMatch(stderr(), /"level":(40|50|60)(?!.*connection pooler)/, 'and of nothing else')
    }
    t.same([await api.stop('SIGTERM'), await workers.stop('SIGTERM')], [0, 0])
  })
})

/** A PgBouncer with few sessions, so that they are shared; returns its address of the database. */
async function openBouncer(t: Test, url: string, setting: string) {
  const { hostname, port, username, password } = new URL(url)
  const folder = await mkdtemp(join(tmpdir(), 'adl-bouncer-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const own = await findFreePort()
  const file = join(folder, 'pgbouncer.ini')
  const server = `host=${hostname} port=${port} user='${decodeURIComponent(username)}' password='${decodeURIComponent(password)}'`
  await writeFile(
    file,
    `[databases]
* = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
${setting}
`,
  )
  // It refuses to be run by root.
  const user = await findUser(folder)
  if (user) for (const path of [folder, file]) await chown(path, user.uid, user.gid)
  const child = spawn(program, [file], { ...user, stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(() => isListening(own))
  return Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(own) }).href
}

function isListening(port: number) {
  return new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
}
