import { dataset, datasetVersion } from './dataset-kinds.ts'
import type { Kind } from './kind.ts'
import {
  manifest,
  manifestActivation,
  repairBatch,
  repairFailure,
  subagentDrift,
} from './manifest-kinds.ts'
import { publicSkillAssignment } from './registry-kinds.ts'
import {
  regressionBaseline,
  regressionCheck,
  regressionFinding,
  regressionSeries,
} from './regression-kinds.ts'
import { replayBatch, replayTask } from './replay-kinds.ts'
import {
  decisionPolicy,
  evaluator,
  project,
  redactionSettings,
  workspace,
} from './setting-kinds.ts'
import { skill, skillAssignment, skillBenchmark, skillFile, skillVersion } from './skill-kinds.ts'
import { annotation, examination, revision, score, trace, verdict } from './trace-kinds.ts'

/**
 * What the lines of a backup are, in their order: a line names only what stands before it. Followers stand
 * right after the trace that they are about, in this order too. A line is one JSON object: `kind`, the
 * members sorted by name, then `spans` and `llm_calls` of those with content.
 */
export const KINDS = [
  workspace,
  project,
  decisionPolicy,
  evaluator,
  redactionSettings,
  manifest,
  manifestActivation,
  skill,
  skillVersion,
  skillFile,
  skillBenchmark,
  skillAssignment,
  publicSkillAssignment,
  repairBatch,
  repairFailure,
  trace,
  score,
  annotation,
  examination,
  verdict,
  revision,
  dataset,
  datasetVersion,
  replayBatch,
  replayTask,
  subagentDrift,
  regressionCheck,
  regressionFinding,
  regressionSeries,
  regressionBaseline,
] as const satisfies readonly Kind[]

export type KindName = (typeof KINDS)[number]['name']

/** The first line. It has no time and no organization, so that equal content has equal bytes. */
export const HEADER = '{"kind":"backup","format":1}\n'

/** The last line. */
export interface BackupEnd {
  /** Of the lines of each kind that is there, `backup` and `end` not counted, in the order of KINDS. */
  readonly counts: Readonly<Partial<Record<KindName, number>>>
  /** Of all bytes before the line, in hexadecimal. */
  readonly sha256: string
}

export function endLine({ counts, sha256 }: BackupEnd): string {
  return `${JSON.stringify({ kind: 'end', counts, sha256 })}\n`
}
