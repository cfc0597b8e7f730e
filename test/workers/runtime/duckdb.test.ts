import '../../../ops/duckdb-allocator.ts'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openDuck, readOne } from '../../../workers/runtime/duckdb.ts'

t.test('DuckDB', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-duck-'))
  const duck = await openDuck(folder, new AbortController().signal)
  const connection = await duck.connect()
  t.teardown(async () => {
    await duck.close()
    await rm(folder, { recursive: true, force: true })
  })

  t.test('reads and writes in its folder', async (t) => {
    await writeFile(join(folder, 'in.csv'), 'a\n1\n')
    await connection.run(`copy (from read_csv('${folder}/in.csv')) to '${folder}/out.parquet'`)
    t.same(await readOne(connection, `select a::int from '${folder}/out.parquet'`), [1])
  })

  t.test('reaches nothing else, and cannot be told to', async (t) => {
    const statements = [
      `from read_csv('/etc/passwd')`,
      `from read_text('/etc/passwd')`,
      `from read_blob('${folder}/../../etc/passwd')`,
      `from glob('/etc/*')`,
      `copy (select 1) to '/tmp/adl-duck-escape.csv'`,
      `copy (select 1) to '${folder}/../adl-duck-escape.csv'`,
      `attach '/tmp/adl-duck-escape.db'`,
      `export database '/tmp/adl-duck-escape'`,
      `install httpfs`,
      `load httpfs`,
      `from read_csv('https://example.com/x.csv')`,
      `set enable_external_access = true`,
      `set allowed_directories = ['/']`,
      `set lock_configuration = false`,
      `pragma enable_external_access`,
    ]
    for (const statement of statements) await t.rejects(connection.run(statement), statement)
  })

  const skip = process.platform !== 'linux' && 'only its allocator is told'
  t.test('gives memory back when it is closed, also beside another one', { skip }, async (t) => {
    const before = process.memoryUsage.rss()
    const other = await openDuck(folder, new AbortController().signal)
    const large = 'create table large as select range as a, range as b from range(16_000_000)'
    await (await other.connect()).run(large)
    t.ok(process.memoryUsage.rss() - before > 192 * MIB, 'the table is in memory')
    await other.close()
    t.ok(process.memoryUsage.rss() - before < 96 * MIB, 'and then it is not')
    const script = await readFile('ops/start-workers.ts', 'utf8')
    t.match(script, /^(\/\/.*\n)*import '\.\/duckdb-allocator\.ts'/, 'as in worker processes')
  })
})

t.test('one that is closed between two queries of a work ends it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-duck-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const duck = await openDuck(folder, new AbortController().signal)
  const connection = await duck.connect()
  const work = duck.hold(async () => {
    await setTimeout(100)
    return connection.run('select count(*) from range(1_000_000_000_000) where range % 7 = 3')
  })
  const ended = t.rejects(work, /Interrupted/)
  await duck.close()
  await ended
  await t.rejects(
    duck.hold(async () => 1),
    /being closed/,
  )
})

const MIB = 1 << 20
