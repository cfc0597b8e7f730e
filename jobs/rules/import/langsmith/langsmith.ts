import { asId } from '../foreign/members-left.ts'
import type { Members, PartsFormat } from '../format.ts'
import { readFeedback } from './langsmith-feedback.ts'
import { langsmithParts, mergedRun } from './langsmith-parts.ts'
import { mapRun } from './langsmith-run.ts'
import { holdsStats, readStats } from './langsmith-stats.ts'
import { partsById } from '../foreign/parts-by-id.ts'

/**
 * LangSmith: runs as exports have them, bodies `{post: [run], patch: [run]}` of the ingest endpoint, and
 * feedback.
 */
export const langsmith: PartsFormat = {
  matches: (record) =>
    'dotted_order' in record ||
    'run_type' in record ||
    Array.isArray(record['post']) ||
    Array.isArray(record['patch']) ||
    ('run_id' in record && 'key' in record),
  read: langsmithParts,
  holdsScores: holdsStats,
  assemble(parts) {
    const runs = [...partsById(parts, 'span')].map(([id, told]) => ({ ...mergedRun(told), id }))
    const traceId = parts[0]?.trace_id ?? ''
    const mapped = runs.map((run) => mapRun(run, run.id === traceId))
    const told = partsById(parts, 'score')
    const feedback = [...told.values()].map((each) => readFeedback(each, traceId))
    const stats = readStats(runs, [...told.values()].flat(), traceId)
    return {
      spans: mapped.map(({ span, call }) => ({ span, call })),
      told: mapped.some(({ span }) => isRunning(span, traceId)) ? { status: 'partial' } : {},
      scores: [...feedback, ...stats].flatMap(({ scores }) => scores),
      corrections: feedback.flatMap(({ corrections }) => corrections),
      losses: [...mapped, ...feedback, ...stats].flatMap(({ losses }) => losses),
      origin: originOf(runs),
    }
  },
}

/** Whether a root had not ended when it was exported. */
function isRunning({ id, status }: Members, traceId: string) {
  return id === traceId && status === 'running'
}

/** A session of LangSmith is a project; its conversations are threads. */
function originOf(runs: readonly Members[]): Members {
  const first = (...names: string[]) =>
    runs.flatMap((run) => names.map((each) => asId(run[each]))).find((each) => each !== null)
  const [id, name] = [first('session_id', 'project_id'), first('session_name')]
  return {
    ...((id ?? name) && { project_id: id ?? name }),
    ...(id && name && { project_name: name }),
  }
}
