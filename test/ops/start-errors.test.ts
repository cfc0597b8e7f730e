import { once } from 'node:events'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { databaseError } from '../../ops/migrate.ts'
import { startPostgres, stopPostgres } from '../../ops/postgres.ts'
import { openTestDatabase } from '../support/database.ts'
import { isAlive, launch, makeFolder, run, start } from '../support/started.ts'
import { until } from '../support/until.ts'

t.test('what cannot go on is ended', async (t) => {
  t.test('three quick deaths of a child end the whole, in a sentence', async (t) => {
    const service = await start(t, { DATA_DIR: await makeFolder(t) })
    const exit = once(service.child, 'exit')
    // As soon as it is there, because on a busy machine it may not come to its first words quickly.
    const killing = setInterval(
      () => void killApi(service.child.pid as number).catch(() => undefined),
      50,
    )
    t.teardown(() => clearInterval(killing))
    t.same(await exit, [1, null])
    t.match(service.stderr(), /^API cannot run \(SIGKILL\); .*api\.log tells why\.\n$/)
    t.same((await service.pids()).filter(isAlive), [])
  })

  t.test('a second Ctrl-C does not wait for what hangs', async (t) => {
    const service = await start(t, { DATA_DIR: await makeFolder(t) })
    const exit = once(service.child, 'exit')
    process.kill((await service.pids('api'))[0] as number, 'SIGSTOP')
    await until(() => {
      service.child.kill('SIGINT')
      return service.output().includes('Ending everything at once.')
    })
    await exit
    t.same((await service.pids()).filter(isAlive), [])
  })

  t.test('a database whose recovery takes long is waited for, and stopped by Ctrl-C', async (t) => {
    const DATA_DIR = await makeFolder(t)
    const dataDir = join(DATA_DIR, 'postgres')
    await (await startPostgres({ dataDir })).stop()
    // It asks this command for the log that it recovers from.
    await appendFile(join(dataDir, 'postgresql.auto.conf'), `restore_command = 'sleep 3600'\n`)
    await writeFile(join(dataDir, 'recovery.signal'), '')
    const { child, output } = launch(t, { DATA_DIR })
    t.teardown(() => stopPostgres(dataDir))
    await until(() => output().includes('still being recovered') || child.exitCode !== null)
    const [pid] = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')
    t.ok(isAlive(Number(pid)))
    const exit = once(child, 'exit')
    child.kill('SIGINT')
    t.same(await exit, [0, null])
    t.notOk(isAlive(Number(pid)))
  })
})

t.test('what stands in the way is told in a sentence', async (t) => {
  t.test('a taken port', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.teardown(() => taken.close())
    const { port } = taken.address() as AddressInfo
    const result = await run(t, { DATA_DIR: await makeFolder(t), PORT: String(port) })
    t.match(result, {
      code: 1,
      stderr: new RegExp(`^Port ${port} on 127.0.0.1 is taken.* PORT .*\\n$`),
    })
  })

  t.test('a data folder that is a file', async (t) => {
    const folder = await makeFolder(t)
    await writeFile(join(folder, 'file'), '')
    const result = await run(t, { DATA_DIR: join(folder, 'file') })
    t.match(result, { code: 1, stderr: /^The data folder .*file cannot be used .*\n$/ })
  })

  t.test('a broken database folder', async (t) => {
    const folder = await makeFolder(t)
    await mkdir(join(folder, 'postgres'))
    await writeFile(join(folder, 'postgres/PG_VERSION'), 'nonsense')
    t.match(await run(t, { DATA_DIR: folder }), { code: 1, stderr: /^The database in .*\n$/ })
  })

  t.test('an extension that the server does not have', async (t) => {
    const { sql, url } = await openTestDatabase(t)
    const error: unknown = await sql`create extension absent`.catch((refused: unknown) => refused)
    t.match(databaseError(error, url)?.message, /lacks .* extension "absent" is not available/)
  })

  t.test('a variable that is not as it should be', async (t) => {
    const env = { DATA_DIR: await makeFolder(t), DRAIN_SECONDS: 'soon', PORTT: '1' }
    t.match(await run(t, env), { code: 1, stderr: /^Environment: DRAIN_SECONDS .*PORTT .*\n$/ })
  })
})

async function killApi(parent: number) {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '')
  for (const pid of children.split(' ').filter(Boolean).map(Number)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('start-api.ts') && isAlive(pid)) process.kill(pid, 'SIGKILL')
  }
}
