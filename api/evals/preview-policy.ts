import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import { PRESETS } from '../../jobs/rules/evals/decision-policy.ts'
import type { Policy, Trust } from '../../jobs/rules/evals/decision-policy.ts'
import { listOf, oneOf, shape, textReference } from '../../jobs/shape.ts'
import type { Sql } from '../../sql/core/db.ts'
import { listJudged } from '../../sql/evals/judgements.ts'
import { countDecided, listNewestDecided } from '../../sql/manifests/decided-traces.ts'
import type { DecidedByPolicy } from '../../sql/manifests/decided-traces.ts'
import { judge, readEvidence } from '../../sql/transactions/trace-evidence.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProject } from '../projects.ts'
import { resolveSettings } from './policy.ts'

const share = () => Joi.number().min(0).max(1)
const verdict = Joi.string()
  .valid(...VERDICTS)
  .required()
const n = Joi.number().integer().required()

export const previewPolicy = endpoint('GET', '/decision-policy/preview', {
  summary: 'How many recorded verdicts other settings of the decision policy would change',
  description:
    'Judges the newest traces that the policy is for once more, by these settings and in memory: nothing is stored. Looks at 1,000 traces at most, and at fewer when that takes longer than 5 seconds. What is not named is as in the preset, as for PUT.',
  access: 'key',
  aggregates: true,
  query: shape(
    {},
    {
      preset: oneOf(...PRESETS).default('default'),
      keep_at: share(),
      drop_at: share(),
      human: share().description('Weight of what people say'),
      verifier: share().description('Weight of checks of the outcome'),
      third_party: share().description('Weight of judges outside'),
      custom: share().description("Weight of the client's own scores"),
      builtin: share().description('Weight of the built-in scores'),
      agent_name: textReference().description("Default the project's own policy"),
      project: projectField,
    },
  ),
  answers: {
    200: Joi.object({
      total: n.description('Traces that the policy is for'),
      looked_at: n.description('The newest of them that were judged again'),
      changed: n.description('Those of them whose verdict would be another'),
      by_change: listOf(
        Joi.object({ from: verdict, to: verdict, count: n }).label('VerdictChange'),
      ).required(),
      needs_review: Joi.object({ before: n, after: n }).required().label('ReviewChange'),
      examples: listOf(
        Joi.object({ trace_id: Joi.string().required(), from: verdict, to: verdict }).label(
          'ChangedVerdict',
        ),
      )
        .required()
        .description('The newest traces whose verdict would change, 20 at most'),
    }).label('DecisionPolicyPreview'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { preset, keep_at, drop_at, agent_name = '', project, ...weights } = query
    const source_weights: Partial<Record<Trust, number | undefined>> = weights
    const thresholds = { keep_at, drop_at }
    const settings = resolveSettings({ preset, thresholds, source_weights })
    const projectId = await readableProject(sql, principal, project)
    const traces = { orgId: principal.orgId, projectId, policyOf: agent_name }
    const [total, compared] = await Promise.all([
      countDecided(sql, traces),
      judgeNewest(sql, traces, { agent_name, version: 0, settings }),
    ])
    return { total, ...summarize(compared) }
  },
})

/** The newest traces of a policy with the verdict they have and the one they would have. */
async function judgeNewest(sql: Sql, traces: DecidedByPolicy, policy: Policy) {
  const { orgId, projectId } = traces
  const until = performance.now() + MAX_MS
  const recorded = await listNewestDecided(sql, traces, MAX_TRACES)
  const compared: Compared[] = []
  for (let from = 0; from < recorded.length && performance.now() < until; from += PAGE) {
    const page = recorded.slice(from, from + PAGE)
    const ids = page.map(({ trace_id }) => trace_id)
    const decisions = await sql.begin(async (tx) => {
      const judged = await listJudged(tx, orgId, projectId, ids)
      const evidence = await readEvidence(tx, orgId, projectId, judged)
      const others = evidence.policies.filter(({ agent_name }) => agent_name !== policy.agent_name)
      const { judgements } = await judge(tx, orgId, projectId, judged, {
        ...evidence,
        policies: [...others, policy],
      })
      return new Map(judgements.map(({ trace, decision }) => [trace.trace_id, decision]))
    })
    for (const { trace_id, ...before } of page) {
      const after = decisions.get(trace_id)
      // Not of a trace that was deleted meanwhile, or cannot be opened.
      if (after) compared.push({ trace_id, before, after })
    }
  }
  return compared
}

function summarize(compared: readonly Compared[]) {
  const changes = compared
    .filter(({ before, after }) => before.verdict !== after.verdict)
    .map(({ trace_id, before, after }) => ({ trace_id, from: before.verdict, to: after.verdict }))
  const by_change = VERDICTS.flatMap((from) =>
    VERDICTS.map((to) => ({
      from,
      to,
      count: changes.filter((change) => change.from === from && change.to === to).length,
    })),
  )
  return {
    looked_at: compared.length,
    changed: changes.length,
    by_change: by_change.filter(({ count }) => count > 0),
    needs_review: {
      before: compared.filter(({ before }) => before.needs_review).length,
      after: compared.filter(({ after }) => after.needs_review).length,
    },
    examples: changes.slice(0, MAX_EXAMPLES),
  }
}

const MAX_TRACES = 1000
/** Traces that are judged in one transaction. */
const PAGE = 200
const MAX_MS = 5000
const MAX_EXAMPLES = 20

interface Decided {
  readonly verdict: Verdict
  readonly needs_review: boolean
}

interface Compared {
  readonly trace_id: string
  readonly before: Decided
  readonly after: Decided
}
