import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { findFreePort } from '../free-port.ts'

/** A process of the service. */
export interface ServiceProcess {
  readonly child: ChildProcess
  /** Where it listens, if it does. */
  readonly address: string | undefined
  /** Its metrics in the text format of Prometheus. */
  metrics(): Promise<string>
}

/**
 * Starts processes of the service on a database.
 * @param opened kills them when it is disposed of
 * @param folder of their files
 */
export function openProcesses(opened: AsyncDisposableStack, url: string, folder: string) {
  async function start(script: string, args: readonly string[]): Promise<ServiceProcess> {
    const healthPort = await findFreePort()
    const child = spawn(process.execPath, [script, ...args], {
      env: {
        ...process.env,
        DATABASE_URL: url,
        DATA_DIR: folder,
        PORT: '0',
        HEALTH_PORT: String(healthPort),
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const ended = once(child, 'exit')
    opened.defer(async () => {
      child.kill('SIGKILL')
      await ended
    })
    const early = ended.then(() => Promise.reject(new Error(`${script} did not start`)))
    const [ready]: { address?: string }[] = await Promise.race([once(child, 'message'), early])
    return {
      child,
      address: ready?.address,
      async metrics() {
        const response = await fetch(`http://127.0.0.1:${healthPort}/metrics`)
        return response.text()
      },
    }
  }
  return {
    startApi: () => start('ops/start-api.ts', []),
    /** @param pools with commas between them */
    startWorkers: (pools: string) => start('ops/start-workers.ts', ['--pool', pools]),
  }
}
export type Processes = ReturnType<typeof openProcesses>
