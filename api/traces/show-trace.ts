import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import { shape, someOf, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findRevisionContent, listRevisions } from '../../sql/manifests/trace-revisions.ts'
import { listAnnotations } from '../../sql/traces/annotations.ts'
import { listScores } from '../../sql/evals/eval-scores.ts'
import { findTraceContent } from '../../sql/traces/traces.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, projectField } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { viewScore } from '../evals/score.ts'
import { traceBody } from './trace-body.ts'
import { findVisibleTrace, tracePath, viewTrace } from './trace.ts'

const PARTS = ['core', 'spans', 'llm_calls', 'scores', 'annotations']

export const showTrace = endpoint('GET', '/traces/{trace_id}', {
  summary: 'Read a trace',
  description:
    'With its spans (the first 2,000: further ones by page), LLM calls, scores and annotations, or only the parts named in `fields`.',
  access: 'key',
  params: tracePath,
  query: shape(
    {},
    {
      project: projectField,
      revision: uuidReference().description(
        'The id of a manifest: shows the LLM calls as they were repaired for it, 404 when they were not',
      ),
      fields: someOf(...PARTS).description('Parts, separated by commas; default all'),
    },
  ),
  answers: { 200: traceBody, 404: errorBody },
  async handle({ context: { sql }, principal, params, query }) {
    const trace = await findVisibleTrace(sql, principal, params.trace_id, query.project)
    const parts = new Set(query.fields?.split(',') ?? PARTS)
    const { org_id: _, ...row } = trace
    const { id, trace_id, project, project_id } = viewTrace(row)
    return {
      ...(parts.has('core') ? viewTrace(row) : { id, trace_id, project, project_id }),
      ...(parts.has('core') && { revisions: await listRevisions(sql, trace, REVISIONS_SHOWN) }),
      ...(await readContent(sql, trace, parts, query.revision)),
      ...(parts.has('scores') && { eval_scores: (await listScores(sql, trace)).map(viewScore) }),
      ...(parts.has('annotations') && { annotations: await listAnnotations(sql, trace) }),
    }
  },
})

/** @param manifestId the manifest whose repaired content is meant; undefined for the recorded one */
async function readContent(
  sql: Queryable,
  key: TraceKey,
  parts: ReadonlySet<string>,
  manifestId: string | undefined,
) {
  const isShown = parts.has('spans') || parts.has('llm_calls')
  if (!isShown && manifestId === undefined) return {}
  const content =
    manifestId === undefined
      ? await findTraceContent(sql, key)
      : await findRevisionContent(sql, key, manifestId)
  if (!content) throw notFound(manifestId === undefined ? 'Trace' : 'Revision')
  const { spans, llm_calls } = await decodeContentInSteps(content, openTurns())
  return {
    ...(parts.has('spans') && {
      spans: spans.slice(0, SPANS_SHOWN),
      spans_truncated: spans.length > SPANS_SHOWN,
    }),
    ...(parts.has('llm_calls') && { llm_calls }),
  }
}

const SPANS_SHOWN = 2000
/** The newest; there is one a manifest. */
const REVISIONS_SHOWN = 100
