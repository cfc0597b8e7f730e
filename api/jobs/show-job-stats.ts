import Joi from 'joi'
import { jobs as declaredJobs } from '../../jobs/index.ts'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import type { OpenJobState } from '../../jobs/rules/jobs/job-state.ts'
import { listOf } from '../../jobs/shape.ts'
import { countOpenJobs, sumEndedJobs } from '../../sql/jobs/job-throughput.ts'
import type { EndedJobs, OpenJobs } from '../../sql/jobs/job-throughput.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable, projectQuery, times } from '../fields.ts'
import { readableProjects } from '../projects.ts'

/** Hours that are shown besides the one that goes on. */
const HOURS_BEFORE = 23
const HOUR_MS = DAY_MS / 24

const count = () => Joi.number().integer().required()
const seconds = (what: string) =>
  nullable(
    Joi.object({ p50: Joi.number().required(), p95: Joi.number().required() }).label('JobSeconds'),
  ).description(`${what}; null where no such job began`)

const openMembers = {
  queued: count(),
  running: count(),
  cancelling: count(),
  oldest_waiting_seconds: nullable(Joi.number()).description(
    'For how long the first of those that wait has done so; null where none waits',
  ),
}

const endedMembers = {
  succeeded: count(),
  failed: count(),
  canceled: count(),
  wait_seconds: seconds('From creation to the first start'),
  run_seconds: seconds('From the first start to the end, with the waits between attempts'),
}

export const showJobStats = endpoint('GET', '/jobs/stats', {
  summary: 'Sum up the jobs that are open, and those that ended in the last day',
  description: `The last day is the hour that goes on and the ${HOURS_BEFORE} before it.`,
  access: 'key',
  aggregates: true,
  query: projectQuery,
  answers: {
    200: Joi.object({
      since: times.required().description('Begin of the first hour'),
      ...openMembers,
      ...endedMembers,
      by_kind: listOf(
        Joi.object({ kind: Joi.string().required(), ...openMembers, ...endedMembers }).label(
          'JobKindStats',
        ),
      )
        .required()
        .description('Kinds with a job that is open or ended in the last day, by name'),
      by_hour: listOf(Joi.object({ hour: times.required(), ...endedMembers }).label('JobHourStats'))
        .required()
        .description('Hours of UTC, the oldest first'),
    }).label('JobStats'),
    404: errorBody,
  },
  async handle({ context, principal, query: { project } }) {
    const now = context.now()
    const thisHour = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS
    const hours = Array.from({ length: HOURS_BEFORE + 1 }, (_, n) => thisHour - n * HOUR_MS)
    const since = new Date(thisHour - HOURS_BEFORE * HOUR_MS)
    const { sql } = context
    const visible = {
      projectIds: await readableProjects(sql, principal, project),
      keyId: project === undefined ? principal.keyId : undefined,
    }
    const kinds = declaredJobs.map(({ name }) => name)
    const [open, ended] = await Promise.all([
      countOpenJobs(sql, principal.orgId, visible),
      sumEndedJobs(sql, principal.orgId, { ...visible, since, kinds }),
    ])
    const seen = new Set([...open, ...ended].flatMap(({ kind }) => kind ?? []))
    return {
      since,
      ...viewOpen(open, now),
      ...viewEnded(ended.find(({ kind, hour }) => kind === null && hour === null)),
      by_kind: [...seen].sort().map((kind) => ({
        kind,
        ...viewOpen(
          open.filter((row) => row.kind === kind),
          now,
        ),
        ...viewEnded(ended.find((row) => row.kind === kind)),
      })),
      by_hour: hours.toReversed().map((hour) => ({
        hour: new Date(hour),
        ...viewEnded(ended.find((row) => row.hour?.getTime() === hour)),
      })),
    }
  },
})

function viewOpen(rows: readonly OpenJobs[], now: Date) {
  const count = (state: OpenJobState) =>
    rows.reduce((sum, row) => sum + (row.state === state ? row.n : 0), 0)
  const waiting = rows.filter(({ state }) => state === 'queued')
  const first = Math.min(...waiting.map(({ oldest_at }) => oldest_at.getTime()))
  return {
    queued: count('queued'),
    running: count('running'),
    cancelling: count('cancelling'),
    oldest_waiting_seconds: waiting.length > 0 ? Math.max(0, (now.getTime() - first) / 1000) : null,
  }
}

function viewEnded(row: EndedJobs | undefined) {
  return {
    succeeded: row?.succeeded ?? 0,
    failed: row?.failed ?? 0,
    canceled: row?.canceled ?? 0,
    wait_seconds: viewSeconds(row?.wait_p50, row?.wait_p95),
    run_seconds: viewSeconds(row?.run_p50, row?.run_p95),
  }
}

/** To the millisecond. */
function viewSeconds(p50: number | null | undefined, p95: number | null | undefined) {
  const rounded = (seconds: number) => Math.round(seconds * 1000) / 1000
  return typeof p50 === 'number' && typeof p95 === 'number'
    ? { p50: rounded(p50), p95: rounded(p95) }
    : null
}
