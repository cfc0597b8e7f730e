// Runs once before the test files: starts one embedded PostgreSQL for all of them, unless
// DATABASE_URL names a server to use.
import { startPostgres } from '../../ops/postgres.ts'
import { CLUSTER_DIR, placeInMemory } from './cluster.ts'

if (!process.env['DATABASE_URL']) {
  await placeInMemory()
  await startPostgres({
    dataDir: CLUSTER_DIR,
    detached: true,
    settings: {
      // A test that loses its database to a power cut may run again.
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      // The log may be in memory too.
      max_wal_size: '1GB',
    },
  })
}
