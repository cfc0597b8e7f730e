// Runs once after the test files.
import { rm } from 'node:fs/promises'
import { stopPostgres } from '../../ops/postgres.ts'
import { whyNoBrowser } from './browser.ts'
import { CLUSTER_DIR } from './cluster.ts'

if (!process.env['DATABASE_URL']) {
  await stopPostgres(CLUSTER_DIR)
  await rm(CLUSTER_DIR, { recursive: true, force: true })
  await rm(`${CLUSTER_DIR}.lock`, { force: true })
}

const reason = whyNoBrowser()
if (reason) process.stderr.write(`The console was not looked at: ${reason}.\n`)
