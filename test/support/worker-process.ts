import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Service } from './service.ts'

/**
 * Starts a worker process on the database of a service; it works when this returns.
 * @param pools their names, separated by commas
 * @param env settings besides those of the service
 */
export async function startWorkerProcess(
  { url, config }: Service,
  pools: string,
  env: NodeJS.ProcessEnv,
) {
  const child = spawn(process.execPath, ['ops/start-workers.ts', '--pool', pools], {
    env: {
      ...process.env,
      ...env,
      DATABASE_URL: url,
      DATA_DIR: config.DATA_DIR,
      LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return child
}
