import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { openBoss, openProcessQueue, reconcileQueues } from '../../ops/boss.ts'
import { openDatabase } from '../../sql/core/db.ts'
import { createDatabase } from '../support/database.ts'
import { submitNumber } from '../support/queues.ts'
import type { NumberJob } from '../support/queues.ts'
import { makeOrganization } from '../support/service.ts'
import { until } from '../support/until.ts'
import { watchClaims } from './invariants.ts'
import { faultHandlers } from './jobs.ts'

/** Faults are tried for long with FAULTS=long, as `npm run test:faults` does. */
export const LONG = process.env['FAULTS'] === 'long'

/** A database with the queues of `jobs.ts`, jobs in them, and worker processes that may be killed. */
export async function openStage(t: Test, givenUrl?: string) {
  const url = givenUrl ?? (await createDatabase(t))
  const dataDir = await mkdtemp(join(tmpdir(), 'adl-fault-'))
  const sql = openDatabase(url, { applicationName: 'stage' })
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  const queue = openProcessQueue(boss, sql)
  await reconcileQueues(
    boss,
    faultHandlers.map(({ job }) => job),
  )
  await sql.unsafe(WITNESSES)
  const org = await makeOrganization(sql, 'enterprise')
  const workers = new Set<Worker>()
  const stops = new Set<() => unknown>()

  t.teardown(async () => {
    for (const stop of stops) await stop()
    for (const { child } of workers) child.kill('SIGKILL')
    await boss.stop({ graceful: false }).catch(() => undefined)
    await sql.end({ timeout: 1 })
    await rm(dataDir, { recursive: true, force: true })
  })

  /** A worker process of the given queues; it is not to end by itself. */
  async function startWorker(
    jobs: readonly NumberJob[],
    { slots = 4, supervise = false, graceMs = 20_000, through = url }: WorkerOptions = {},
  ): Promise<Worker> {
    const child = spawn(process.execPath, ['test/faults/worker.ts'], {
      env: {
        ...process.env,
        DATABASE_URL: through,
        DATA_DIR: dataDir,
        LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'silent',
        FAULT_QUEUES: jobs.map(({ name }) => name).join(','),
        FAULT_SLOTS: String(slots),
        FAULT_SUPERVISE: supervise ? '1' : '0',
        FAULT_GRACE_MS: String(graceMs),
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const worker: Worker = { child, isKilled: false, killedAt: undefined }
    workers.add(worker)
    await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (child.exitCode !== null)
      throw new Error(`A worker ended with ${child.exitCode} at its start`)
    return worker
  }

  return {
    url,
    sql,
    boss,
    org,
    startWorker,
    submit: (job: NumberJob, n = 0, owner = org) => submitNumber(sql, queue, job, n, owner),
    /**
     * Submits a job every `ms` milliseconds, so that a worker never waits for work, until it is
     * stopped. Stopping returns the ids of what was accepted, and how many were refused.
     * @param next the job to submit when n have been accepted; a refused one is tried with the same n
     *   again
     */
    load(ms: number, next: (n: number) => NumberJob) {
      const accepted: string[] = []
      let refused = 0
      let isLoading = true
      const loading = (async () => {
        while (isLoading) {
          const n = accepted.length
          await submitNumber(sql, queue, next(n), n, org).then(
            (id) => accepted.push(id),
            () => refused++,
          )
          await setTimeout(ms)
        }
      })()
      const stop = async () => {
        isLoading = false
        await loading
        return { accepted, refused }
      }
      stops.add(stop)
      return { stop }
    },
    /** SIGKILL, with the time of it for `slowestTakeover`. */
    async kill(worker: Worker) {
      worker.isKilled = true
      worker.killedAt = new Date()
      worker.child.kill('SIGKILL')
      if (worker.child.signalCode === null) await once(worker.child, 'exit')
    },
    /** SIGTERM; returns the exit code. */
    async stop(worker: Worker) {
      worker.isKilled = true
      worker.child.kill('SIGTERM')
      const [code] = (await once(worker.child, 'exit')) as [number | null]
      return { code }
    },
    /** Resolves when the worker runs a job. */
    busy: ({ child }: Worker) =>
      until(async () => {
        const running = await sql`
          select from job_attempts
          where ended_at is null and worker like ${`%:${child.pid}`} limit 1`
        return running.length > 0
      }),
    /** Workers that ended although nobody ended them. */
    fallen: () => [...workers].filter(({ child, isKilled }) => !isKilled && hasEnded(child)),
    /** The longest time in seconds between the kill of a worker and the next attempt of a job it had. */
    async slowestTakeover() {
      const rows = await sql<{ worker: string; next: Date }[]>`
        select a.worker, b.started_at as next from job_attempts a
        join job_attempts b on b.org_id = a.org_id and b.job_id = a.job_id
          and b.attempt = a.attempt + 1
        where a.outcome = 'lost'`
      const killed = new Map([...workers].map(({ child, killedAt }) => [child.pid, killedAt]))
      const seconds = rows.flatMap(({ worker, next }) => {
        const killedAt = killed.get(Number(worker.split(':').at(-1)))
        return killedAt ? (next.getTime() - killedAt.getTime()) / 1000 : []
      })
      return { count: seconds.length, seconds: Math.max(0, ...seconds) }
    },
    /** Resolves when every job has ended; the database may be away meanwhile. */
    allEnded: () =>
      until(async () => {
        const open = sql`select from jobs where finished_at is null limit 1`
        return open.then(
          ({ length }) => length === 0,
          () => false,
        )
      }),
    watch() {
      const watching = watchClaims(sql)
      stops.add(watching.stop)
      return watching
    },
  }
}
export type Stage = Awaited<ReturnType<typeof openStage>>

export interface Worker {
  readonly child: ChildProcess
  /** Somebody has ended it. */
  isKilled: boolean
  killedAt: Date | undefined
}

interface WorkerOptions {
  slots?: number
  supervise?: boolean
  graceMs?: number
  /** Address of the database as the worker sees it. */
  through?: string
}

function hasEnded({ exitCode, signalCode }: ChildProcess) {
  return exitCode !== null || signalCode !== null
}

/** What the handlers do, and every time a job becomes final. */
const WITNESSES = `
  create table effects (org_id uuid not null, job_id uuid, n int not null, step int not null);
  create table endings (job_id uuid not null, state text not null);
  create function witness_ending() returns trigger language plpgsql as $$ begin
    insert into endings values (new.id, new.state); return null;
  end $$;
  create trigger witness_ending after update on jobs for each row
    when (old.finished_at is null and new.finished_at is not null) execute function witness_ending();
  create trigger witness_changed_ending after update on jobs for each row
    when (old.finished_at is not null and old.state <> new.state) execute function witness_ending();
`
