import { hashInPieces } from '../core/canonical-hash.ts'
import { inSteps } from '../core/in-steps.ts'
import { reader } from '../core/reader.ts'
import type { Fault, Reader } from '../core/reader.ts'
import { readUuidReference } from '../core/reference.ts'
import type { EvalVerdict } from '../core/verdicts.ts'
import type { NewScore } from '../evals/score.ts'
import { readTraceScores } from '../evals/trace-scores.ts'
import { readTrace } from '../traces/read-trace.ts'
import type { TraceWarning } from '../traces/trace-warning.ts'
import type { Trace } from '../traces/trace.ts'
import type { Pause } from '../core/in-steps.ts'

/** What a runner says of a task. */
export interface Submission {
  readonly status: (typeof SUBMITTED_STATUSES)[number]
  /** Null where the runner holds no lease. */
  readonly lease_token: string | null
  /** The run itself, to be stored. */
  readonly trace: SubmittedTrace | null
  /** The run, which was stored before. */
  readonly replayed_trace_id: string | null
  /** 0 to 1. */
  readonly eval_score: number | null
  readonly eval_verdict: EvalVerdict | null
  /** Why it failed or was skipped. */
  readonly error: string | null
  /** A failed task is to be given out again while attempts are left. */
  readonly retry: boolean
  /** SHA-256 over what was said, without the lease token: the same again is known by it. */
  readonly hash: Buffer
}

export interface SubmittedTrace {
  /** `trace_id` and `agent_name` are '' where the runner named none. */
  readonly trace: Trace
  readonly scores: readonly NewScore[]
  /** What cannot be stored as it was sent. */
  readonly warnings: readonly TraceWarning[]
}

/**
 * Reads the body of a submission. A faulty score inside its trace is a warning.
 * @param pause is awaited between parts of a large body, so that others have their turn
 */
export async function readSubmission(
  value: unknown,
  now: Date,
  pause: Pause,
): Promise<{ value: Submission } | { faults: readonly Fault[] }> {
  const faults: Fault[] = []
  const read = reader(value, '', faults)
  if (!read) return { faults }
  // Reading a trace tidies it up, so its hash is taken before.
  const hash = await hashSubmission(read, pause)
  const trace = read.has('trace') ? readSubmittedTrace(read.any('trace'), now, faults) : null
  await pause()
  if (!read.has('status')) read.fault('status', 'is required')
  const submission: Submission = {
    status: read.word('status', SUBMITTED_STATUSES) ?? 'failed',
    lease_token: leaseTokenOf(read),
    trace,
    replayed_trace_id: read.reference('replayed_trace_id'),
    eval_score: shareOf(read, 'eval_score'),
    eval_verdict: verdictOf(read.name('eval_verdict')),
    error: read.text('error', MAX_ERROR),
    retry: read.flag('retry'),
    hash,
  }
  return faults.length > 0 ? { faults } : { value: submission }
}

/** What no single member is to blame for; undefined where nothing is wrong. */
export function findSubmissionFault({
  status,
  trace,
  replayed_trace_id,
  eval_score,
  eval_verdict,
}: Submission): string | undefined {
  if (status !== 'completed') {
    const said = [trace, replayed_trace_id, eval_score, eval_verdict]
    return said.some((each) => each !== null) ? NOT_COMPLETED : undefined
  }
  if (trace && replayed_trace_id !== null) return 'Submit one of trace and replayed_trace_id'
  if (trace || replayed_trace_id !== null || eval_score !== null) return undefined
  return 'A completed task needs one of trace, replayed_trace_id and eval_score'
}

async function hashSubmission({ value }: Reader, pause: Pause) {
  const { lease_token: _, ...said } = value
  return inSteps(hashInPieces(said), pause)
}

function readSubmittedTrace(value: unknown, now: Date, faults: Fault[]): SubmittedTrace | null {
  const result = readTrace(value, { traceId: () => '', agentName: '', now })
  if ('faults' in result) {
    const inTrace = (field: string) => (field === 'body' ? 'trace' : `trace.${field}`)
    for (const { field, message } of result.faults) faults.push({ field: inTrace(field), message })
    return null
  }
  const { trace, warnings } = result
  if (trace.status === 'running') {
    faults.push({ field: 'trace.status', message: 'must say how the run ended' })
  }
  const { scores, eval_scores } = value as Record<string, unknown>
  const rated = readTraceScores({ scores, eval_scores })
  return { trace, scores: rated.scores, warnings: [...warnings, ...rated.warnings] }
}

function leaseTokenOf(read: Reader) {
  const token = read.string('lease_token')
  return token === null ? null : readUuidReference(token)
}

function shareOf(read: Reader, key: string) {
  const given = read.number(key)
  if (given === null || (given >= 0 && given <= 1)) return given
  return read.fault(key, 'must be a number from 0 to 1')
}

/** Words of decisions stand for those of scores; one that nobody knows leaves the run to a review. */
function verdictOf(word: string | null): EvalVerdict | null {
  if (word === null) return null
  if (PASSED.has(word)) return 'pass'
  return FAILED.has(word) ? 'fail' : 'review'
}

export const SUBMITTED_STATUSES = ['completed', 'failed', 'skipped'] as const
const NOT_COMPLETED =
  'Only a completed task has a run or a score: submit a run that failed as completed, with a trace of status error'
/** Longer errors are cut to this many characters. */
const MAX_ERROR = 4000
const PASSED: ReadonlySet<string> = new Set(['pass', 'keep'])
const FAILED: ReadonlySet<string> = new Set(['fail', 'drop'])
