import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/free-port.ts'
import { launch } from '../support/program.ts'
import { until } from '../support/until.ts'

export type Fleet = Awaited<ReturnType<typeof openFleet>>

/**
 * Processes of one or several releases on a database, and a load balancer before the APIs, which asks
 * each for its readiness all the time.
 */
export async function openFleet(t: Test, databaseUrl: string) {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'adl-fleet-'))
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }))
  const members = new Set<Target>()
  const unready: string[] = []
  let turn = 0

  /** @param root folder of the code of its release */
  async function start(root: string, script: string, env: Record<string, string> = {}) {
    const HEALTH_PORT = String(await findFreePort())
    const given = { DATABASE_URL: databaseUrl, DATA_DIR, HEALTH_PORT, ...env }
    const process = launch(t, script, given, [], root)
    const name = `${script} of ${root}`
    const target: Target = { address: undefined, isReady: true, isStopping: false, open: 0 }
    let isOver = false
    const ended = process.ended.then((code) => {
      isOver = true
      if (!target.isStopping) unready.push(`${name} ended with ${code}`)
      return code
    })
    const probe = `http://127.0.0.1:${HEALTH_PORT}/readyz`
    const isUp = () => /"(?:address":"http|pools":\[)/.test(process.stderr())
    await until(async () => isOver || (isUp() && (await isReady(probe))))
    if (isOver) throw new Error(`${name} did not start: ${process.stderr()}`)
    target.address = /"address":"(http[^"]+)"/.exec(process.stderr())?.[1]
    members.add(target)
    void watch(target, probe, name)
    /** Asks it to stop; the balancer finds out by itself. Returns the exit code. */
    async function stop() {
      target.isStopping = true
      void process.stop('SIGTERM')
      const code = await ended
      members.delete(target)
      return code
    }
    return {
      stop,
      /** Takes it from the balancer and, once what it was sent is answered, asks it to stop. */
      async remove() {
        target.isStopping = true
        target.isReady = false
        await until(() => target.open === 0)
        return stop()
      },
    }
  }

  async function watch(target: Target, probe: string, name: string) {
    while (members.has(target)) {
      const ready = await isReady(probe)
      if (!ready && !target.isStopping) unready.push(`${name} was not ready`)
      target.isReady &&= ready
      await setTimeout(PROBE_MS)
    }
  }
  t.teardown(() => members.clear())

  return {
    start,
    /** Each time at which a process was not ready, or ended, although nobody had told it to stop. */
    unready,
    /** Sends a request to an API that is ready, each in its turn. */
    async send(path: string, init: RequestInit) {
      const ready = [...members].filter(({ address, isReady }) => address && isReady)
      const target = ready[++turn % ready.length]
      if (!target) throw new Error('No API is ready')
      target.open++
      try {
        const response = await fetch(`${target.address}/api/v1${path}`, init)
        return { status: response.status, text: await response.text() }
      } finally {
        target.open--
      }
    },
  }
}

async function isReady(probe: string) {
  return fetch(probe).then(
    async (response) => (await response.text()) !== '' && response.ok,
    () => false,
  )
}

const PROBE_MS = 50

interface Target {
  /** Undefined for workers. */
  address: string | undefined
  isReady: boolean
  isStopping: boolean
  /** Requests that it has not answered yet. */
  open: number
}
