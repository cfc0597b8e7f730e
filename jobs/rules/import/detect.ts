import { cut } from '../core/reader.ts'
import { isKindName, kindOf } from './backup/read-line.ts'
import { atif } from './atif/atif.ts'
import type { Format, Members, PartsFormat, Refusal } from './format.ts'
import { langfuse } from './langfuse/langfuse.ts'
import { langsmith } from './langsmith/langsmith.ts'
import { openaiChat } from './chat/openai-chat.ts'
import { opik } from './opik/opik.ts'
import { otlp } from './otlp/otlp.ts'
import { phoenix } from './phoenix/phoenix.ts'
import { tauBench } from './tau-bench.ts'
import { traceLines } from './trace-lines.ts'

/** The words that clients name the formats with. */
export const FORMAT_NAMES = [
  'traces',
  'openai_chat',
  'tau_bench',
  'langfuse',
  'langsmith',
  'phoenix',
  'otlp',
  'opik',
  'atif',
] as const
export type FormatName = (typeof FORMAT_NAMES)[number]

/** Formats that can be imported. */
export const formats: Readonly<Record<FormatName, Format | PartsFormat>> = {
  traces: traceLines,
  openai_chat: openaiChat,
  tau_bench: tauBench,
  langfuse,
  langsmith,
  phoenix,
  otlp,
  opik,
  atif,
}

/** Whether the records of a format are pieces of traces. */
export function hasParts(format: Format | PartsFormat): format is PartsFormat {
  return 'assemble' in format
}

/**
 * The format to read a record in, or why there is none.
 * @param asked the only format to accept; null accepts all
 */
export function chooseFormat(
  record: Members,
  asked: FormatName | null,
): { name: FormatName } | Refusal {
  if (isBackupLine(record)) return BACKUP_LINE
  if (asked !== null && asked !== 'traces' && formats[asked].matches(record)) return { name: asked }
  const found = detectFormat(record)
  // Whoever asks for traces may name the agent for all of them, so that they need no member of their own.
  if (asked === 'traces' && found === undefined) return { name: asked }
  if (found === undefined) return { code: 'unknown_format', message: describeUnknown(record) }
  if (asked === null || found === asked) return { name: found }
  const message = `The record is not of the format ${asked}; it looks like ${found}`
  return { code: 'other_format', message }
}

/** Whether a record is a line of a backup, whose members would be taken for those of a trace. */
function isBackupLine(record: Members) {
  const { kind: name } = record
  if (name === 'backup') return Object.hasOwn(record, 'format')
  if (!isKindName(name)) return false
  const needed = kindOf(name).members.filter(({ isNullable }) => !isNullable)
  return needed.every((member) => Object.hasOwn(record, member.name))
}

/** The format of a record by its shape; undefined for one of no known shape. */
export function detectFormat(record: Members): FormatName | undefined {
  return DETECTED.find((name) => fits(name, record))
}

function fits(name: FormatName, record: Members) {
  if (name === 'traces') return OWN_MEMBERS.some((member) => Object.hasOwn(record, member))
  if (name === 'openai_chat' && CALL_MEMBERS.some((member) => Object.hasOwn(record, member))) {
    return false
  }
  return formats[name].matches(record)
}

function describeUnknown(record: Members) {
  const names = Object.keys(record)
  const shown = names.slice(0, SHOWN_MEMBERS).map((name) => JSON.stringify(cut(name, SHOWN_NAME)))
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const has = names.length === 0 ? 'no members' : `the members ${shown.join(', ')}${more}`
  return `The record has ${has} and is none of: ${FORMAT_NAMES.join(', ')}`
}

/** In the order in which they are tried: those that only records of their own can have come first. */
const DETECTED: readonly FormatName[] = [
  'otlp',
  'langfuse',
  'langsmith',
  'phoenix',
  'atif',
  'opik',
  'tau_bench',
  'openai_chat',
  'traces',
]
const CALL_MEMBERS = ['llm_calls', 'spans']
/** A record with one of them is a trace as `POST /traces` takes it. */
const OWN_MEMBERS = [...CALL_MEMBERS, 'agent_name']
const BACKUP_LINE: Refusal = {
  code: 'backup_line',
  message: 'The line is of a backup, which is imported as a whole, from its first line on',
}
const SHOWN_MEMBERS = 12
/** Characters of a name. */
const SHOWN_NAME = 64
