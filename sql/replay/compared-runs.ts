import { setImmediate } from 'node:timers/promises'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { ownCalls, toolsUsed } from '../../jobs/rules/traces/trace-use.ts'
import type { ComparedRun } from '../../jobs/rules/replay/comparison.ts'
import { readOutput } from '../../jobs/rules/replay/recorded-output.ts'
import { judgeReplayability } from '../../jobs/rules/replay/replayability.ts'
import type { Replayability } from '../../jobs/rules/replay/replayability.ts'
import type { Queryable } from '../core/db.ts'
import { listJudgedScores } from '../evals/judgements.ts'
import { listVerdicts } from '../evals/verdicts.ts'
import { ofTrace } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

/** What of a run stays as it is, whatever is said of it. */
export type RecordedRun = Omit<ComparedRun, 'scores' | 'quality'> & {
  readonly agent_name: string
  readonly task_id: string | null
  readonly replayability: Replayability
}

/** How a run was judged. */
export interface RunJudgement extends Pick<ComparedRun, 'scores' | 'quality'> {
  readonly isJudged: boolean
}

/** Reads a run and opens its content, with turns for others; undefined when it is gone. */
export async function findRun(sql: Queryable, key: TraceKey): Promise<RecordedRun | undefined> {
  const [row] = await sql<OpenedRow[]>`
    select agent_name, task_id, session_id, turn_index, status, started_at, ended_at, cost_usd, user_input_preview,
      final_output_preview, active_skills, skills_loaded_by_agent, metadata, tags, content
    from traces where ${ofTrace(sql, key)}`
  if (!row) return undefined
  const trace = { ...row, ...(await decodeContentInSteps(row.content, setImmediate)) }
  return {
    agent_name: row.agent_name,
    task_id: row.task_id,
    replayability: judgeReplayability(trace).replayability,
    status: row.status,
    output: readOutput(trace),
    tools: toolsUsed(trace, ownCalls(trace)).map(({ tool }) => tool),
    durationMs: row.ended_at && row.ended_at.getTime() - row.started_at.getTime(),
    costUsd: row.cost_usd,
  }
}

/** How these runs of a project are judged now. */
export async function listRunJudgements(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<ReadonlyMap<string, RunJudgement>> {
  const [scores, verdicts] = await Promise.all([
    listJudgedScores(sql, orgId, projectId, traceIds),
    listVerdicts(sql, orgId, projectId, traceIds),
  ])
  const judgedBy = scores.filter(({ rates_skill }) => !rates_skill)
  const scoresOf = Map.groupBy(judgedBy, ({ trace_id }) => trace_id)
  const verdictOf = new Map(verdicts.map((verdict) => [verdict.trace_id, verdict]))
  return new Map(
    traceIds.map((id) => {
      const verdict = verdictOf.get(id)
      const quality = verdict?.quality_avg ?? null
      return [id, { scores: scoresOf.get(id) ?? [], quality, isJudged: !!verdict }]
    }),
  )
}

type OpenedRow = Pick<
  TraceRow,
  | 'agent_name'
  | 'task_id'
  | 'session_id'
  | 'turn_index'
  | 'status'
  | 'started_at'
  | 'ended_at'
  | 'cost_usd'
  | 'user_input_preview'
  | 'final_output_preview'
  | 'active_skills'
  | 'skills_loaded_by_agent'
  | 'metadata'
  | 'tags'
  | 'content'
>
