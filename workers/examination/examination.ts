import type { UsingTrace } from '../../jobs/rules/traces/trace-use.ts'
import type { CompatDecision } from '../../jobs/rules/manifests/compat-decision.ts'
import type { Violation } from '../../jobs/rules/manifests/violation.ts'
import type { AgentEdge } from '../../jobs/rules/traces/agent-edges.ts'
import type { StoredManifest } from '../../sql/manifests/manifest-components.ts'

/** A trace with its content still compressed. */
export type ClosedTrace = Omit<UsingTrace, 'spans' | 'llm_calls'> & {
  trace_id: string
  content: Uint8Array
  /** It was given up before, and is not opened. */
  given_up: boolean
}

/** What was found in a trace. */
export interface Examination {
  /** How it fits the target manifest; null without one. */
  compatibility: CompatDecision | null
  violations: Violation[]
  edges: AgentEdge[]
  /** It ended the thread that examines traces, alone too: what is said of it is only that. */
  given_up: boolean
}

/** Traces and the manifests they are looked at with. */
export interface ThreadRequest {
  /** The manifest the traces were recorded under; null for none. */
  readonly manifest: StoredManifest | null
  /** The manifest they are compared with; null compares them with none. */
  readonly target: StoredManifest | null
  readonly traces: readonly ClosedTrace[]
}

export interface ExaminationRequest extends ThreadRequest {
  /** `compatibility` leaves out violations and edges. */
  readonly wants: 'all' | 'compatibility'
}
