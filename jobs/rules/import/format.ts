import { createHash } from 'node:crypto'
import type { LlmCall, Span } from '../traces/trace.ts'
import type { TraceWarning } from '../traces/trace-warning.ts'

/** A way in which others write down what we call a trace. */
interface FormatBase {
  /** Whether a record has what makes it one of this format, in whatever order its members come. */
  readonly matches: (record: Members) => boolean
  /** For records that name no agent, where the format itself says enough. */
  readonly agentName?: string
}

/** A format whose records are whole traces, which are stored while the file is read. */
export interface Format extends FormatBase {
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

/** A format whose records are pieces of traces, which are put together when all of them are read. */
export interface PartsFormat extends FormatBase {
  /**
   * The parts that a record stands for. It only finds out what belongs together: whatever belongs to a
   * known trace is not read any further.
   */
  readonly read: (record: Members) => ReadParts | Refusal
  /**
   * Whether a part that is no score holds scores, of which some may be newer than its trace. Without it no
   * part does.
   */
  readonly holdsScores?: (value: Members) => boolean
  /** Makes spans and scores of all parts of one trace. Their order, and parts that come twice, change nothing. */
  readonly assemble: (parts: readonly Part[]) => Assembled
}

export interface ReadParts {
  readonly parts: readonly Part[]
  /** Scores that do not say of which trace; their spans or traces may be anywhere in the file. */
  readonly spanScores?: readonly SpanScore[]
  /** What of the record belongs to no trace. */
  readonly losses: readonly Loss[]
}

/** A piece of a trace. */
export interface Part {
  /** Of the trace, as the source names it: our id of it too. */
  readonly trace_id: string
  readonly kind: 'span' | 'trace' | 'score'
  /** Parts of one kind and id tell of one thing: the same, or more of it. */
  readonly id: string
  /** What the source says, as JSON holds it. */
  readonly value: Members
}

/**
 * A score that does not say of which trace. It becomes a part of the trace with that id, else of the trace
 * in the file that has such a span. A score of which there is neither is the loss `score_without_trace`.
 */
export interface SpanScore extends Omit<Part, 'trace_id'> {
  readonly trace_id: null
  readonly kind: 'score'
  /** Of the span; of the trace itself where the source does not tell which of the two it is. */
  readonly span_id: string
}

/** What the parts of one trace say together, in our terms. */
export interface Assembled {
  readonly spans: readonly MappedSpan[]
  /** What records of the trace itself say, as `POST /traces` takes it; it goes before what spans say. */
  readonly told: Members
  /** As `POST /traces` takes scores; each names its source, label of the source and identifier. */
  readonly scores: readonly Members[]
  readonly corrections: readonly Correction[]
  readonly losses: readonly Loss[]
  /** What goes to `metadata.import`, beside the names of the format and of the trace. */
  readonly origin: Members
}

/** What a person says that the answer should have been. */
export interface Correction {
  /** In the source. */
  readonly id: string
  readonly corrected_output: string
  /** RFC 3339. */
  readonly created_at: string | null
}

/** A span in our terms, not checked yet: members as `POST /traces` takes them. */
export interface MappedSpan {
  /** With `id` and `started_at`. */
  readonly span: Members
  /** The LLM call that the span stands for. Its ids are the span's, and what it does not say of time and status. */
  readonly call: Members | null
}

/** A span that was checked, with its LLM call, whose `id` and `span_id` are the span's id. */
export interface ReadSpan {
  readonly span: Span
  readonly call: LlmCall | null
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
  readonly code: (typeof LOSS_CODES)[number] | TraceWarning['code']
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

/** What can be lost of a record; `TraceWarning` has further codes. */
export const LOSS_CODES = [
  'score_value_clipped',
  'score_text_cut',
  'score_without_trace',
  'attachment_dropped',
  'media_dropped',
  'comment_dropped',
  /** Of metadata over 16 KiB. */
  'members_dropped',
  'message_part_kept_as_text',
  'time_invalid',
  /** A member of a span or of the trace that is not of its type. */
  'member_invalid',
  /** A span that does not name its trace or itself. */
  'span_refused',
] as const
const MAX_KEPT = 16 << 10
