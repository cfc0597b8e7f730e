import { encodeContent, encodeContentInSteps } from './content.ts'
import type { ContentForm, EncodingInSteps } from './content.ts'
import { factsOf } from './trace-facts.ts'
import type { TraceFacts } from './trace-facts.ts'
import type { Trace } from './trace.ts'

/** A trace as the table `traces` holds it: its own members, what is known of its content, and that content. */
export type TraceRow = Omit<Trace, 'spans' | 'llm_calls'> &
  TraceFacts & { content: Buffer } & Partial<Settling>
/** How far a trace is that is sent span by span; both are absent of any other. */
export interface Settling {
  /** Further spans change it. */
  made_of_spans: boolean
  /** When it is taken as complete unless further spans come; null once it was. */
  settles_at: Date | null
}

export function toTraceRow(trace: Trace, form: ContentForm): TraceRow {
  const { spans, llm_calls, ...members } = trace
  return { ...members, ...factsOf(trace), content: encodeContent({ spans, llm_calls }, form) }
}

/** As `toTraceRow`, in steps. Undefined for a content of more than `max` characters. */
export async function toTraceRowWithin(
  trace: Trace,
  encoding: EncodingInSteps,
): Promise<TraceRow | undefined> {
  const { spans, llm_calls, ...members } = trace
  const facts = factsOf(trace)
  await encoding.pause()
  const content = await encodeContentInSteps({ spans, llm_calls }, encoding)
  return content && { ...members, ...facts, content }
}

/** As `toTraceRow`, in steps. */
export async function toTraceRowInSteps(
  trace: Trace,
  encoding: Omit<EncodingInSteps, 'max'>,
): Promise<TraceRow> {
  const row = await toTraceRowWithin(trace, encoding)
  return row as TraceRow
}
