import { execFile } from 'node:child_process'
import { appendFile, chown, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openDatabase } from '../../sql/core/db.ts'
import { openCluster } from './cluster.ts'

/** A cluster that standbys can be made of. */
export const openPrimary = (t: Test) =>
  openCluster(t, { settings: { wal_level: 'replica', max_wal_senders: '4', autovacuum: 'off' } })

/**
 * A hot standby that streams from a primary.
 * @param primary a cluster of `openPrimary`
 */
export async function openStandbyOf(
  t: Test,
  primary: { readonly url: string; readonly dataDir: string },
) {
  const standby = await openCluster(t, {
    settings: { wal_level: 'replica', max_wal_senders: '4' },
    prepare: (dataDir) => copyCluster(primary, dataDir),
  })
  const set = async (name: string, value: string) => {
    const sql = openDatabase(standby.url, { max: 1 })
    await sql.unsafe(`alter system set ${name} = '${value}'`)
    await sql`select pg_reload_conf()`
    await sql.end()
  }
  return {
    ...standby,
    /** Changes a setting while it runs. */
    set,
    /** Commits are shown so long after they came; '0' as soon as they have come. */
    lag: (time: string) => set('recovery_min_apply_delay', time),
    async promote() {
      const sql = openDatabase(standby.url, { max: 1 })
      await sql`select pg_promote()`
      await sql.end()
    },
  }
}

/** What pg_basebackup does, which the packaged binaries lack. */
async function copyCluster(primary: { url: string; dataDir: string }, dataDir: string) {
  const sql = openDatabase(primary.url, { max: 1 })
  try {
    const label = await sql.reserve()
    await label`select pg_backup_start('standby', true)`
    await promisify(execFile)('cp', ['-a', primary.dataDir, dataDir])
    const [stopped] = await label<
      { labelfile: string }[]
    >`select labelfile from pg_backup_stop(false)`
    label.release()
    const { hostname, port, username, password } = new URL(primary.url)
    const source = `host=${hostname} port=${port} user=${username} password=${password}`
    await rm(join(dataDir, 'postmaster.pid'))
    const { uid, gid } = await stat(dataDir)
    const files = { backup_label: String(stopped?.labelfile), 'standby.signal': '' }
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(dataDir, name), text)
      await chown(join(dataDir, name), uid, gid)
    }
    await appendFile(
      join(dataDir, 'postgresql.auto.conf'),
      `primary_conninfo = '${source}'\nhot_standby_feedback = on\n`,
    )
  } finally {
    await sql.end()
  }
}
