// How fast traces of a filter are deleted, a tenth of an organization's, and how long lists take meanwhile:
// [DATABASE_URL=...] node ops/bench/delete.ts [--rows 1000000] [--seconds 20] [--smoke]
// The ceiling is a plain DELETE of as many traces of another organization, alone and in one transaction.
import { setTimeout } from 'node:timers/promises'
import type { Sql } from '../../sql/core/db.ts'
import { print, quantile, report, round, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { loadScale } from './scale-data.ts'
import { describeOrganization } from './scale-organization.ts'
import type { ScaleOrganization } from './scale-organization.ts'
import { fillIn, SCALE_REQUESTS } from './scale-requests.ts'
import { openProcesses } from './service-processes.ts'

const { rows, seconds } = readOptions({ rows: [1_000_000, 1000], seconds: [20, 0.1] })
const DAYS = 90
const LOOK_MS = 200
const AGENT = 'sql-analyst'
/** Every list of traces that the scale bench asks for. */
const LISTS = SCALE_REQUESTS.filter((request) => /^\/traces(\?|$)/.test(request))

await using opened = new AsyncDisposableStack()
const { path: folder } = opened.use(await openBenchFolder('delete'))
await withBenchDatabase('delete', async (bench) => {
  const say = (sentence: string) => process.stdout.write(`${sentence}\n`)
  const [organization, neighbour] = (await loadScale(
    bench,
    { sizes: [rows], days: DAYS },
    say,
  )) as [ScaleOrganization, ScaleOrganization]
  const { alone, during, deleted, deleteSeconds } = await measureDeletion(bench, organization)
  const raw = await measureRaw(bench.sql, neighbour)
  const rate = deleted / deleteSeconds
  print(
    [...alone.keys()].map((list) => ({
      list,
      p50_ms_alone: round(quantile(alone.get(list) ?? [], 0.5)),
      p99_ms_alone: round(quantile(alone.get(list) ?? [], 0.99)),
      p50_ms_during: round(quantile(during.get(list) ?? [], 0.5)),
      p99_ms_during: round(quantile(during.get(list) ?? [], 0.99)),
    })),
  )
  const [before, meanwhile] = [[...alone.values()].flat(), [...during.values()].flat()]
  report(
    {
      what: 'deleting traces by a filter, to a plain DELETE of as many',
      ratio: round(rate / raw.rate),
      figures: `${whole(deleted)} of ${whole(rows)} traces in ${whole(deleteSeconds)} s, ${whole(rate)}/s; plain ${whole(raw.rate)}/s`,
    },
    {
      what: 'lists of traces while others are deleted, p99 below 100 ms',
      ratio: null,
      figures: `p50 ${round(quantile(meanwhile, 0.5))} ms, p99 ${round(quantile(meanwhile, 0.99))} ms of ${whole(meanwhile.length)}; alone p50 ${round(quantile(before, 0.5))} ms, p99 ${round(quantile(before, 0.99))} ms of ${whole(before.length)}`,
    },
  )
})

/** Over HTTP, with the workers in a process of their own. */
async function measureDeletion({ url, sql }: Bench, organization: ScaleOrganization) {
  await using running = new AsyncDisposableStack()
  const processes = openProcesses(running, url, folder)
  const { address = '' } = await processes.startApi()
  await processes.startWorkers('evals,maintenance')
  const known = await describeOrganization(sql, organization)
  const headers = { authorization: `Bearer ${organization.key}`, prefer: 'respond-async' }
  async function call<Answer>(path: string, method = 'GET'): Promise<Answer> {
    const response = await fetch(`${address}/api/v1${path}`, { method, headers })
    if (!response.ok) throw new Error(`${response.status}: ${path}`)
    return response.json() as Promise<Answer>
  }
  /** Milliseconds of each list, asked for in turn. */
  async function askLists(isOver: () => boolean) {
    const times = new Map<string, number[]>(LISTS.map((list) => [list, []]))
    do {
      for (const [list, measured] of times) {
        const began = performance.now()
        await call(fillIn(list, known))
        measured.push(performance.now() - began)
      }
    } while (!isOver())
    return times
  }

  await askLists(() => true)
  const end = performance.now() + seconds * 1000
  const alone = await askLists(() => performance.now() >= end)
  const { job_id } = await call<{ job_id: string }>(
    `/traces?agent_name=${AGENT}&until=${middleOf(organization).toISOString()}`,
    'DELETE',
  )
  const ended = waitForEnd(() => call<DeletionJob>(`/jobs/${job_id}`))
  let job: DeletionJob | undefined
  void ended.then((found) => (job = found))
  const during = await askLists(() => job !== undefined)
  const { result, started_at, finished_at } = await ended
  const deleteSeconds = (Date.parse(finished_at) - Date.parse(started_at)) / 1000
  return { alone, during, deleted: result.deleted_count, deleteSeconds }
}

async function waitForEnd(look: () => Promise<DeletionJob>) {
  for (;;) {
    const job = await look()
    if (job.error) throw new Error(JSON.stringify(job.error))
    if (job.done) return job
    await setTimeout(LOOK_MS)
  }
}

/** Deletes the same traces of another organization, with all that is found of them. */
async function measureRaw(sql: Sql, organization: ScaleOrganization) {
  const { org_id, project_id } = organization.owner
  await sql`
    create table raw_deletion as
    select org_id, project_id, period, trace_id from traces
    where org_id = ${org_id} and project_id = ${project_id} and agent_name = ${AGENT}
      and started_at < ${middleOf(organization)}`
  await sql`analyze raw_deletion`
  const began = performance.now()
  const deleted = await sql.begin(async (tx) => {
    for (const table of ['eval_scores', 'verdicts', 'trace_search']) {
      await tx`delete from ${tx(table)} as f using raw_deletion d where ${sameKey(tx)}`
    }
    return tx`delete from traces as f using raw_deletion d where ${sameKey(tx)}`
  })
  return { rate: (1000 * deleted.count) / (performance.now() - began) }
}

function sameKey(sql: Pick<Sql, 'unsafe'>) {
  const columns = ['org_id', 'project_id', 'period', 'trace_id']
  return sql.unsafe(columns.map((name) => `f.${name} = d.${name}`).join(' and '))
}

function middleOf({ beganAt, endedAt }: ScaleOrganization) {
  return new Date((beganAt.getTime() + endedAt.getTime()) / 2)
}

interface DeletionJob {
  readonly done: boolean
  readonly error: object | null
  readonly result: { readonly deleted_count: number }
  readonly started_at: string
  readonly finished_at: string
}
