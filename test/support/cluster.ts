import { resolve } from 'node:path'
import { findPostgres } from '../../ops/postgres.ts'

/** Data folder of the PostgreSQL that all test files share. */
export const CLUSTER_DIR = resolve('.data/test-cluster')

/** Address of the server the tests use. */
export async function serverUrl() {
  const url = process.env['DATABASE_URL'] ?? (await findPostgres(CLUSTER_DIR))
  if (!url) throw new Error('No test database runs: start the tests with `npm test`')
  return url
}
