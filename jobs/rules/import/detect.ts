import type { Format, Members } from './format.ts'
import { openaiChat } from './openai-chat.ts'
import { tauBench } from './tau-bench.ts'
import { traceLines } from './trace-lines.ts'

/** The words that clients name the formats with. */
export const FORMAT_NAMES = ['traces', 'openai_chat', 'tau_bench'] as const
export type FormatName = (typeof FORMAT_NAMES)[number]

/** Formats that can be imported. */
export const formats: Readonly<Record<FormatName, Format>> = {
  traces: traceLines,
  openai_chat: openaiChat,
  tau_bench: tauBench,
}

/** The format of a record by its shape; undefined for one of no known shape. */
export function detectFormat(record: Members): FormatName | undefined {
  if (tauBench.matches(record)) return 'tau_bench'
  if ('llm_calls' in record || 'spans' in record) return 'traces'
  if (openaiChat.matches(record)) return 'openai_chat'
  return 'agent_name' in record ? 'traces' : undefined
}
