import t from 'tap'
import { spawnSync } from 'node:child_process'
import { randomUUIDv7 } from 'node:crypto'
import { chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Answer, endpoint } from '../../api/endpoint.ts'
import { operations } from '../../api/routes.ts'
import { createApi } from '../../api/server.ts'
import { admitJob } from '../../api/admit-job.ts'
import { buildDataset } from '../../jobs/build-dataset.ts'
import { readConfig } from '../../ops/config.ts'
import { openApiContext } from '../../ops/api-context.ts'
import { migrateAll } from '../../ops/migrate.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql, Transaction } from '../../sql/core/db.ts'
import { createDatabase } from '../support/database.ts'
import { makeOrganization } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openCluster } from './cluster.ts'

/** Writes a row, a job resource and a queue row in one transaction. */
const work = endpoint('POST', '/test/work', {
  summary: 'Three rows',
  access: 'key',
  answers: {},
  async handle({ context, principal }) {
    const id = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      await tx`insert into works (body) values (${'x'.repeat(500)})`
      const submission = { projectId: principal.projectId }
      const payload = { version_id: randomUUIDv7() }
      return admitJob(context, tx, principal, buildDataset, payload, submission)
    })
    return new Answer(202, { id })
  },
})

t.test('F16: the enqueue transaction fails half-way', async (t) => {
  t.test('because a statement takes too long, be it the first or the last', async (t) => {
    const { sql, post } = await openWork(t, await createDatabase(t))
    for (const [n, table] of ['works', 'pgboss.job_common', 'jobs'].entries()) {
      t.equal((await post()).statusCode, 202)
      const blocker = await sql.reserve()
      await blocker`begin`
      await blocker`lock table ${sql(table)} in share mode`
      const answering = post()
      await until(async () => {
        // What the server does to a statement that is over its time.
        const canceled = await sql`
          select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        return canceled.length > 0
      })
      const { statusCode, headers } = await answering
      t.equal(statusCode, 503)
      t.equal(headers['retry-after'], '5')
      await blocker`rollback`
      blocker.release()
      t.same(await countRows(sql), [n + 1, n + 1, n + 1], `${table} was locked`)
    }
  })

  t.test('because the disk is full', async (t) => {
    const small = await openSmallDatabase(t)
    if (!small) return t.pass('a full disk', { skip: 'needs the right to mount a file system' })
    const { sql, post } = await openWork(t, small.url)
    await sql`create table filler (body text)`
    await until(() =>
      sql`insert into filler select repeat('x', 1000) from generate_series(1, 100)`.then(
        () => false,
        ({ code }: { code: string }) => code === '53100',
      ),
    )
    const answers: number[] = []
    do {
      for (let i = 0; i < 12; i++) answers.push((await post()).statusCode)
    } while (await small.makeRoom())
    const done = answers.filter((status) => status === 202).length
    t.ok(done > 0 && done < answers.length, `${done} of ${answers.length} were written`)
    t.equal(answers.length - done, answers.filter((status) => status === 503).length, 'or 503')
    t.same(await countRows(sql), [done, done, done])
  })
})

/** An API on a database, with a table for the rows of `work`. */
async function openWork(t: Test, url: string) {
  const sql = openDatabase(url)
  await sql`create table works (body text not null)`
  const { key } = await makeOrganization(sql, 'enterprise')
  const config = readConfig({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' })
  const opened = await openApiContext(config, url)
  const server = await createApi(opened.context, { operations: [...operations, work] })
  t.teardown(async () => {
    await server.stop()
    await opened.close()
    await sql.end({ timeout: 1 })
  })
  const headers = { authorization: `Bearer ${key}` }
  const post = () => server.inject({ method: 'POST', url: '/api/v1/test/work', headers })
  return { sql, post }
}

async function countRows(sql: Sql) {
  const [row] = await sql<{ counts: number[] }[]>`
    select array[(select count(*) from works), (select count(*) from jobs),
      (select count(*) from pgboss.job where name = ${buildDataset.name})]::int[] as counts`
  return row?.counts
}

/** A database that can hold a few megabytes; undefined where that cannot be made. */
async function openSmallDatabase(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-small-'))
  t.teardown(async () => {
    spawnSync('umount', ['-l', folder])
    await rm(folder, { recursive: true, force: true })
  })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'tmpfs', folder])
  if (mounted.status !== 0) return undefined
  const cluster = await openCluster(t)
  const space = join(folder, 'space')
  await mkdir(space)
  const { uid, gid } = await stat(cluster.dataDir)
  await chown(space, uid, gid)
  const admin = openDatabase(cluster.url, { max: 1 })
  await admin.unsafe(`create tablespace small location '${space}'`)
  await admin.unsafe('create database small tablespace small')
  await admin.end()
  const url = new URL(cluster.url)
  url.pathname = '/small'
  await migrateAll(url.href, { warn: () => undefined })
  const ballast = Array.from({ length: 8 }, (_, i) => join(folder, `ballast-${i}`))
  for (const file of ballast) await writeFile(file, Buffer.alloc(64 << 10))
  return {
    url: url.href,
    /** A few pages more; false when there are no more to give. */
    async makeRoom() {
      const file = ballast.pop()
      if (file) await rm(file)
      return file !== undefined
    },
  }
}
