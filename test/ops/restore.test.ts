import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import t from 'tap'
import type { Test } from 'tap'
import { migrateAll } from '../../ops/migrate.ts'
import { startPostgres } from '../../ops/postgres.ts'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { buildDataset, buildVersion, pathOf, readJsonl } from '../support/built-dataset.ts'
import { openService } from '../support/service.ts'
import { makeFolder } from '../support/started.ts'
import { storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'

// The steps are those of ops/docs/runbooks.md, section "Restore to a point in time".
t.test('a dataset that was deleted by mistake is there after a restore', async (t) => {
  const folder = await makeFolder(t)
  const archive = join(folder, 'archive')
  await mkdir(archive)
  await chmod(archive, 0o777)
  const archived = await start(t, join(folder, 'cluster'), {
    wal_level: 'replica',
    archive_mode: 'on',
    archive_command: `cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f`,
  })
  await migrateAll(archived.url, { warn: () => undefined })
  const service = await openService(t, {
    url: archived.url,
    env: { DATA_DIR: join(folder, 'data') },
  })
  await service.startWorkers([buildDatasetHandler], 1)
  const org = await service.makeOrganization()
  await storeJudged(service.sql, org, [{ trace_id: 'a' }])
  const api = service.client(org.key)

  const copy = join(folder, 'copy')
  await backUp(archived, copy)
  const version = await buildDataset(api, 'sft')
  const rows = await readJsonl(api, version)
  t.equal(rows.length, 1)
  // Storage is copied without deleting what is gone from it.
  run('cp', '-a', join(folder, 'data'), join(folder, 'restored'))
  await service.sql`select pg_create_restore_point('before the mistake')`
  t.equal((await api.delete(`/datasets/${version.dataset_id}`)).status, 204)
  await archiveAll(service.sql, archive)

  await put(copy, 'recovery.signal', '')
  const restored = await start(t, copy, {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_name: 'before the mistake',
    recovery_target_action: 'promote',
    hot_standby: 'off',
  })
  const again = await openService(t, {
    url: restored.url,
    env: { DATA_DIR: join(folder, 'restored') },
  })
  await again.startWorkers([buildDatasetHandler], 1)
  const there = again.client(org.key)
  t.equal((await api.get(pathOf(version))).status, 404, 'the mistake happened')
  t.match(await there.get(pathOf(version)), { status: 200, body: { status: 'ready' } })
  t.same(await readJsonl(there, version), rows)
  const next = await buildVersion(there, version.dataset_id)
  t.match(next, { status: 'ready', version_number: 2, content_hash: version.content_hash })
})

async function start(t: Test, dataDir: string, settings: Record<string, string>) {
  const cluster = await startPostgres({
    dataDir,
    settings: { shared_buffers: '16MB', fsync: 'off', ...settings },
  })
  t.teardown(() => cluster.stop())
  return cluster
}

/** A base backup of a running cluster, by the functions that pg_basebackup calls. */
async function backUp({ url, dataDir }: { url: string; dataDir: string }, copy: string) {
  const session = postgres(url, { max: 1, onnotice: () => undefined })
  await session`select pg_backup_start('nightly', true)`
  copyFolder(dataDir, copy)
  const [stopped] = await session`select labelfile from pg_backup_stop()`
  await session.end()
  run('sh', '-c', 'rm -rf "$1"/pg_wal/* "$1"/postmaster.*', 'sh', copy)
  await put(copy, 'backup_label', String(stopped?.['labelfile']))
}

/** Copies what is there. A running server takes away files of its caches meanwhile, which nobody restores. */
function copyFolder(from: string, to: string) {
  const { stderr } = spawnSync('cp', ['-a', from, to])
  const faults = String(stderr)
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith('No such file or directory'))
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

/** Writes a file that belongs to whom its folder belongs to. */
async function put(folder: string, name: string, text: string) {
  const { uid, gid } = await stat(folder)
  await writeFile(join(folder, name), text)
  await chown(join(folder, name), uid, gid)
}

/** Waits until all that was written up to now is in the archive. */
async function archiveAll(sql: postgres.Sql<{ int8: number }>, archive: string) {
  const [row] = await sql<{ file: string }[]>`select pg_walfile_name(pg_switch_wal()) as file`
  await until(() => spawnSync('test', ['-f', join(archive, row?.file ?? '')]).status === 0)
}

function run(program: string, ...words: string[]) {
  const { status, stderr } = spawnSync(program, words)
  if (status !== 0) throw new Error(`${program}: ${String(stderr)}`)
}
