import type { Format, Members } from './format.ts'
import { openaiChat } from './openai-chat.ts'
import { tauBench } from './tau-bench.ts'
import { traceLines } from './trace-lines.ts'

/** Formats that can be imported, by the word clients name them with. */
export const formats = {
  traces: traceLines,
  openai_chat: openaiChat,
  tau_bench: tauBench,
} satisfies Record<string, Format>

export type FormatName = keyof typeof formats

/** The format of a record by its shape; undefined for one of no known shape. */
export function detectFormat(record: Members): FormatName | undefined {
  if (tauBench.matches(record)) return 'tau_bench'
  if ('llm_calls' in record || 'spans' in record) return 'traces'
  if (openaiChat.matches(record)) return 'openai_chat'
  return 'agent_name' in record ? 'traces' : undefined
}
