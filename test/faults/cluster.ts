import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startPostgres, stopPostgres } from '../../ops/postgres.ts'

/**
 * A PostgreSQL of the test's own, to be killed and started again.
 * @param prepare is given the folder of its data before it is started for the first time
 */
export async function openCluster(
  t: Test,
  {
    settings = {},
    prepare = async () => {},
  }: { settings?: Record<string, string>; prepare?: (dataDir: string) => Promise<void> } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-cluster-'))
  // The user that PostgreSQL runs as has to get in.
  await chmod(folder, 0o755)
  // A killed postmaster leaves what it wrote to the operating system.
  const cluster = {
    dataDir: join(folder, 'postgres'),
    detached: true,
    settings: { fsync: 'off', ...settings },
  }
  await prepare(cluster.dataDir)
  const { url, dataDir } = await startPostgres(cluster)
  t.teardown(async () => {
    await stopPostgres(cluster.dataDir)
    await rm(folder, { recursive: true, force: true })
  })
  return {
    url,
    dataDir,
    start: async () => void (await startPostgres({ ...cluster, port: Number(new URL(url).port) })),
    stop: () => stopPostgres(cluster.dataDir),
    /** SIGKILL of the postmaster; its other processes notice by themselves. */
    async kill() {
      const pid = (await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0]
      process.kill(Number(pid), 'SIGKILL')
    },
  }
}
