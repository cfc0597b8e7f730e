// Runs once after the test files.
import { stopPostgres } from '../../ops/postgres.ts'
import { whyNoBrowser } from './browser.ts'
import { CLUSTER_DIR, removeCluster } from './cluster.ts'

if (!process.env['DATABASE_URL']) {
  await stopPostgres(CLUSTER_DIR)
  await removeCluster()
}

const reason = whyNoBrowser()
if (reason) process.stderr.write(`The console was not looked at: ${reason}.\n`)
