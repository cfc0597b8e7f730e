// Runs once before the test files: starts one embedded PostgreSQL for all of them, unless
// DATABASE_URL names a server to use.
import { startPostgres } from '../../ops/postgres.ts'
import { CLUSTER_DIR } from './cluster.ts'

if (!process.env['DATABASE_URL']) {
  await startPostgres({
    dataDir: CLUSTER_DIR,
    detached: true,
    // A test that loses its database to a power cut may run again.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  })
}
