import { createHash } from 'node:crypto'
import type { TraceWarning } from '../traces/trace-warning.ts'

/** A way in which others write down what we call a trace. */
export interface Format {
  /** Whether a record has what makes it one of this format. */
  readonly matches: (record: Members) => boolean
  /** For records that name no agent, where the format itself says enough. */
  readonly agentName?: string
  /**
   * The records a record stands for, each of them one trace, or why it stands for none. Without it that
   * is always the record itself.
   */
  readonly split?: (record: Members) => readonly Members[] | Refusal
  /**
   * The id of the trace a record becomes: its own, else one derived from what it says, so that the
   * same record is the same trace whenever it is imported.
   */
  readonly traceIdOf: (record: Members) => unknown
  readonly map: (record: Members) => Mapped
  /** What the record calls the paths that `map` gave its members, for error messages. */
  readonly paths?: Readonly<Record<string, string>>
}

/** A record in our terms, not checked yet. */
export interface Mapped {
  /** As `POST /traces` takes it. */
  readonly trace: Members
  /** Scores by the member of the record they come from. */
  readonly scores: Readonly<Record<string, unknown>>
  readonly losses: readonly Loss[]
}

/** Something the record tells that cannot be read back from the trace. */
export interface Loss {
  readonly code: 'members_dropped' | 'score_value_clipped' | TraceWarning['code']
  /** A sentence for the trace's metadata. */
  readonly message: string
}

/** Why a record is no trace. */
export interface Refusal {
  readonly code: string
  readonly message: string
}

export type Members = Record<string, unknown>

/** 32 hexadecimal digits of the SHA-256 of a value's JSON text. */
export function fingerprint(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, 32)
}

/** Whether a value is small enough to be kept in a trace's metadata. */
export function isSmall(value: unknown) {
  return (JSON.stringify(value) ?? '').length <= MAX_KEPT
}

/** A trace's own id, under either of its names. */
export function ownTraceId({ trace_id, id }: Members): unknown {
  return trace_id ?? id ?? undefined
}

const MAX_KEPT = 16 << 10
