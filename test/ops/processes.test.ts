import { randomBytes } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { makeKey } from '../../jobs/rules/access/api-key.ts'
import { openTestDatabase } from '../support/database.ts'
import { countLockWaits } from '../support/lock-waits.ts'
import { until } from '../support/until.ts'
import { findFreePort } from '../../ops/free-port.ts'
import { launch } from '../support/program.ts'
import { openProxy } from '../support/proxy.ts'
import { makeFolder } from '../support/started.ts'

t.test('a process on its own', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const DATABASE_URL = url

  t.test('waits for its database, sets it up and serves the key it was given', async (t) => {
    const key = makeKey('svc_', randomBytes(64))
    const empty = `${new URL(url).pathname.slice(1)}_empty`
    await sql.unsafe(`create database ${empty}`)
    t.teardown(() => sql.unsafe(`drop database ${empty} with (force)`))
    const away = await findFreePort()
    const place = Object.assign(new URL(url), { host: `127.0.0.1:${away}`, pathname: `/${empty}` })
    const api = launch(t, 'start-api.ts', {
      DATABASE_URL: place.href,
      INIT_API_KEY: key,
      DRAIN_SECONDS: '1',
    })
    await until(() => api.stderr().includes('does not answer; trying again'))
    await openProxy(t, url, away)
    const address = await until(() => /"address":"(http[^"]+)"/.exec(api.stderr())?.[1])
    const headers = { authorization: `Bearer ${key}` }
    t.equal((await fetch(`${address}/api/v1/api-keys`, { headers })).status, 200)
    t.equal(await api.stop('SIGTERM'), 0)
  })

  t.test('stops at once while it waits for its database', async (t) => {
    const away = `postgres://u:p@127.0.0.1:${await findFreePort()}/x`
    const workers = launch(t, 'start-workers.ts', { DATABASE_URL: away })
    await until(() => workers.stderr().includes('does not answer'))
    t.equal(await workers.stop('SIGTERM'), 0)
  })

  t.test('works off the pools it is told to', async (t) => {
    const some = launch(t, 'start-workers.ts', { DATABASE_URL }, ['--pool', 'import,evals'])
    await until(() => some.stderr().includes('"pools":["import","evals"]'))
    t.equal(await some.stop('SIGTERM'), 0)
    const env = { DATABASE_URL, POOL: 'maintenance' }
    const other = launch(t, 'start-workers.ts', env)
    await until(() => /"pools":\["maintenance"\].*"supervise":true/.test(other.stderr()))
    t.equal(await other.stop('SIGINT'), 0)
  })

  t.test('ends within its time while the queues are being looked after', async (t) => {
    const env = { DATABASE_URL, DRAIN_SECONDS: '1' }
    const maintenance = launch(t, 'start-workers.ts', env, ['--pool', 'maintenance'])
    await until(() => maintenance.stderr().includes('"supervise":true'))
    await sql.begin(async (tx) => {
      await tx`lock table pgboss.queue in share mode`
      await until(async () => (await countLockWaits(sql)) > 0)
      const ended = maintenance.stop('SIGTERM')
      const code = await Promise.race([ended, setTimeout(ENDING_MS, 'goes on', { ref: false })])
      t.type(code, 'number', 'its statement still waits')
    })
  })

  t.test('warns where runners of replays are told no address', async (t) => {
    for (const pool of ['replay', 'skills']) {
      const workers = launch(t, 'start-workers.ts', { DATABASE_URL, HOST: '0.0.0.0', POOL: pool })
      await until(() => workers.stderr().includes(`"pools":["${pool}"]`))
      t.equal(/"level":40.*set PUBLIC_URL/.test(workers.stderr()), pool === 'replay', pool)
      t.equal(await workers.stop('SIGTERM'), 0)
    }
  })

  t.test('shows whether its storage is there, where it needs it', async (t) => {
    // One whose storage nobody has marked.
    const { url: DATABASE_URL } = await openTestDatabase(t)
    const DATA_DIR = await makeFolder(t)
    const storage = join(DATA_DIR, 'shared')
    async function begin(script: string, pools: readonly string[]) {
      const port = String(await findFreePort())
      const env = {
        DATABASE_URL,
        DATA_DIR,
        HEALTH_PORT: port,
        STORAGE_URL: pathToFileURL(storage).href,
      }
      launch(t, script, env, pools)
      const get = async (path: string) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
        return { status: answer?.status, text: await answer?.text() }
      }
      await until(async () => (await get('/readyz')).status === 200)
      return get
    }
    const api = await begin('start-api.ts', [])
    const [imports, evals] = [
      await begin('start-workers.ts', ['--pool', 'import']),
      await begin('start-workers.ts', ['--pool', 'evals']),
    ]
    await rename(storage, `${storage}.away`)
    for (const get of [api, imports]) {
      const { status } = await until(async () => {
        const answer = await get('/readyz')
        const isTold = /The storage folder .* does not have the mark of this database/
        return isTold.test(answer.text ?? '') && answer
      })
      t.equal(status, 503)
      t.match((await get('/metrics')).text, /^adl_storage_up 0$/m)
    }
    await until(async () => (await evals('/readyz')).status === 200)
    await rename(`${storage}.away`, storage)
    for (const get of [api, imports]) {
      await until(async () => (await get('/readyz')).status === 200)
      t.match((await get('/metrics')).text, /^adl_storage_up 1$/m)
    }
  })

  t.test('says in a sentence what it cannot mend', async (t) => {
    const guessed = Object.assign(new URL(url), { password: 'guess' }).href
    const cases: [string, string[], Record<string, string>, RegExp][] = [
      ['start-api.ts', [], {}, /^DATABASE_URL is not set\./],
      ['start-workers.ts', ['--pool', 'imports'], { DATABASE_URL }, /^There is no pool imports; /],
      ['start-workers.ts', ['--all'], { DATABASE_URL }, /Usage: start-workers\.ts/],
      ['start-api.ts', [], { DATABASE_URL: guessed }, /refuses us: /],
      ['start-api.ts', [], { DATABASE_URL: url.replace(/\/\w+$/, '/none') }, /refuses us: /],
      ['start-api.ts', [], { DATABASE_URL, INIT_API_KEY: 'svc_sk_1' }, /^INIT_API_KEY is not /],
    ]
    for (const [script, args, env, sentence] of cases) {
      const process = launch(t, script, env, args)
      t.equal(await process.ended, 1)
      t.match(lastLine(process.stderr()), { level: 60, msg: sentence })
      t.notMatch(process.stderr(), /\bat \S+ \(/, 'no stack')
    }
    await sql`
      insert into applied_migrations (number, name, serves) values (9000, 'from-tomorrow', 9000)`
    const old = launch(t, 'start-workers.ts', { DATABASE_URL })
    t.equal(await old.ended, 1)
    t.match(lastLine(old.stderr()), {
      msg: /^The database has schema 9000, made by a newer version /,
    })
  })
})

function lastLine(output: string) {
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as object
}

/** DRAIN_SECONDS, what closing connections and lingering may take, and a busy machine. */
const ENDING_MS = 20_000
