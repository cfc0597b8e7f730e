import { SKILL_RATER_CONFIG } from '../../jobs/rules/skills/skill-rater.ts'
import { PLAIN_SCORE } from '../../jobs/rules/evals/score.ts'
import type { Sql } from '../../sql/core/db.ts'
import { upsertScores } from '../../sql/evals/eval-scores.ts'
import { insertTraceSkills } from '../../sql/evals/trace-skills.ts'
import { hello, storeJudged } from './stored-traces.ts'

interface Owner {
  readonly orgId: string
  readonly projectId: string
}

/** How traces used a skill. */
interface Use {
  readonly name: string
  /** Of the body; default none. */
  readonly hash?: string
  /** Default now. */
  readonly at?: Date
}

/**
 * Stores traces that used a skill, one for each quality: 1 passes, .5 is to be reviewed, 0 fails, null was
 * not evaluated. Returns their ids.
 */
export async function storeUses(
  sql: Sql,
  org: Owner,
  { name, hash, at = new Date() }: Use,
  qualities: readonly (number | null)[],
) {
  const traces = qualities.map((quality) => {
    const trace_id = `use-${(made += 1)}`
    return {
      trace_id,
      quality,
      messages: hello(trace_id),
      started_at: at.toISOString(),
      active_skills: [{ name, ...(hash && { hash }) }],
    }
  })
  await storeJudged(sql, org, traces)
  const ids = traces.map(({ trace_id }) => trace_id)
  await sql.begin((tx) => insertTraceSkills(tx, org.orgId, org.projectId, ids))
  return ids
}

/** Rates a version of a skill in a trace, as a client does that gives all that is asked of it. */
export async function storeRating(
  sql: Sql,
  { orgId, projectId }: Owner,
  { traceId, versionId, ...rating }: Rating,
) {
  const [trace] = await sql<{ hash: string }[]>`
    select encode(content_hash, 'hex') as hash from traces
    where org_id = ${orgId} and project_id = ${projectId} and trace_id = ${traceId}`
  const { value = 1, source = 'llm_judge', metadata, identifier = '' } = rating
  await upsertScores(sql, orgId, projectId, [
    {
      trace_id: traceId,
      name: 'skill_rating',
      source,
      source_kind: source === 'human' ? 'human' : 'third_party',
      ...PLAIN_SCORE,
      identifier,
      value,
      data_type: 'numeric',
      category: 'quality',
      metadata: {
        rater_model: 'model-a',
        rater_version: 1,
        prompt_sha256: SKILL_RATER_CONFIG.prompt_sha256,
        rated_at: new Date().toISOString(),
        trace_hash: trace?.hash,
        skill_version_id: versionId,
        ...metadata,
      },
    },
  ])
}

export interface Rating {
  readonly traceId: string
  readonly versionId: string | undefined
  readonly value?: number
  readonly source?: 'llm_judge' | 'human' | 'custom'
  readonly identifier?: string
  /** Besides the provenance, or instead of parts of it. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

let made = 0
