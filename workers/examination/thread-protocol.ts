import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { StoredManifest } from '../../sql/manifests/manifest-components.ts'
import type { ClosedTrace, Examination, ExaminationRequest } from './examination.ts'
import type { Repair, RepairRequest } from './repair.ts'

/**
 * Indices in the memory that both threads share: a counter of steps, which schema of which plan is at work, and which
 * task was begun last.
 */
export const BEAT = 0
export const PLAN = 1
/** Its value is 0 while no schema is at work. */
export const SCHEMA = 2
export const TASK = 3
export const MARKS = 4

export interface PlanTask {
  kind: 'plan'
  planId: number
  manifest: StoredManifest | null
  target: StoredManifest | null
  /** The schemas that have taken too long, by their 1-based number in the order of compilation. */
  slow: number[]
}

/** What of a trace is looked at. */
export type OpenedTrace = Omit<ClosedTrace, 'trace_id' | 'given_up'>

interface TracesTask {
  taskId: number
  planId: number
  /** Each with the length of its content in bytes. */
  traces: (Omit<OpenedTrace, 'content'> & { length: number })[]
  /** All contents, one after the other. */
  contents: Uint8Array<ArrayBuffer>
}

export interface ExamineTask extends TracesTask {
  kind: 'examine'
  wants: ExaminationRequest['wants']
}

export interface RepairTask extends TracesTask {
  kind: 'repair'
  wants: RepairRequest['wants']
  approved: RepairRequest['approved']
  /** Of the repaired contents. */
  form: ContentForm
}

export type WorkTask = ExamineTask | RepairTask
export type ThreadTask = PlanTask | WorkTask | { kind: 'forget'; planId: number }

export type ThreadReply = { taskId: number } & (
  { examinations: Examination[] } | { repairs: Repair[] } | { error: unknown }
)
