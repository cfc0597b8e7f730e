import { isUuid } from '../../core/uuid.ts'
import type { Members, PartsFormat } from '../format.ts'
import { asId } from '../foreign/members-left.ts'
import { holdsOpikScores, isExport, isToldInside, mergedOpik, opikParts } from './opik-parts.ts'
import { opikScores } from './opik-scores.ts'
import { mapOpikSpan, mapOpikTrace } from './opik-spans.ts'

/**
 * Opik: traces and spans as batches and searches have them, with their feedback scores, files
 * `{trace, spans}` of its command line, and bodies `{scores: [score]}`. A trace becomes the span that all its
 * spans are below.
 */
export const opik: PartsFormat = {
  matches: (record) =>
    holdsOpikScores(record) ||
    isExport(record) ||
    (isOfProject(record) && TOLD.some((name) => name in record)),
  read: opikParts,
  assemble(parts) {
    const [spans, traces, scores] = (['span', 'trace', 'score'] as const).map((kind) =>
      mergedOpik(parts, kind),
    ) as [Members[], Members[], Members[]]
    const hasModel = spans.some(({ type }) => type === 'llm')
    const mapped = [
      ...traces.map((trace) => mapOpikTrace(trace, { isCall: !hasModel })),
      ...spans.map((span) => mapOpikSpan(span, traces[0]?.['id'])),
    ]
    // The release before staged them within their trace or span.
    const told = [...traces, ...spans, ...scores].filter(isToldInside)
    const pushed = scores.filter((score) => !isToldInside(score))
    const scored = opikScores(told, pushed, parts[0]?.trace_id ?? '')
    return {
      spans: mapped.map(({ span, call }) => ({ span, call })),
      told: {},
      scores: scored.scores,
      corrections: [],
      losses: [...mapped.flatMap(({ losses }) => losses), ...scored.losses],
      origin: originOf([...traces, ...spans]),
    }
  },
}

/** Clients name the project, and what is read back has its id. */
function isOfProject({ project_name, project_id }: Members) {
  return typeof project_name === 'string' || (typeof project_id === 'string' && isUuid(project_id))
}

function originOf(told: readonly Members[]): Members {
  const first = (name: string) => told.map((each) => asId(each[name])).find((each) => each !== null)
  const [id, name] = [first('project_id'), first('project_name')]
  return {
    ...((id ?? name) && { project_id: id ?? name }),
    ...(id && name && { project_name: name }),
  }
}

const TOLD = ['trace_id', 'thread_id', 'feedback_scores', 'start_time']
