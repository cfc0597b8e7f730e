import { hash } from 'node:crypto'
import { reader } from '../../core/reader.ts'
import type { Fault } from '../../core/reader.ts'
import { contentText, encodeContent } from '../../traces/content.ts'
import type { ContentForm } from '../../traces/content.ts'
import { openArgumentBudget } from '../../traces/message-calls.ts'
import { readLlmCall, readSpan, readTraceAround } from '../../traces/read-trace.ts'
import { toolsCalled } from '../../traces/trace-facts.ts'
import { toTraceRow } from '../../traces/trace-row.ts'
import type { TraceRow } from '../../traces/trace-row.ts'
import type { Trace, TraceContent } from '../../traces/trace.ts'
import type { Members } from '../format.ts'
import type { ManifestKey } from './member.ts'

/** A trace as it was stored: its columns beside what its content tells. */
export type RestoredTrace = TraceRow & {
  created_at: Date
  is_imported: boolean
  revision: number
  made_of_spans: boolean
  settles_at: Date | null
}

/** What a revision of a trace holds beside the members of its line. */
export interface RestoredRevision {
  readonly content: Buffer
  readonly content_hash: Buffer
  readonly tools_called: readonly string[]
}

/**
 * Checks a trace of a backup as one that a client sends is checked, and finds anew what readers of its
 * content find. It may hold more spans and calls than a client may send: those that came in pieces do.
 * @param values the members of its line, of their types
 */
export function restoreTrace(
  values: Members,
  record: Members,
  form: ContentForm,
): RestoredTrace | { faults: readonly Fault[] } {
  const read = readContent(record)
  if ('faults' in read) return read
  const now = timeOf(values['started_at']) as Date
  const { faults, trace } = readTraceAround(read.content, membersOf(values), {
    traceId: () => '',
    now,
  })
  if (faults.length > 0) return { faults }
  return {
    // A reader makes a preview where there is none. What was stored had none.
    ...toTraceRow({ ...trace, ...previewsOf(values) }, form),
    created_at: timeOf(values['created_at']) as Date,
    is_imported: values['is_imported'] as boolean,
    revision: values['revision'] as number,
    made_of_spans: values['made_of_spans'] as boolean,
    settles_at: timeOf(values['settles_at']),
  }
}

/** As `restoreTrace`, of the content that a trace has after a repair for a manifest of its agent. */
export function restoreRevision(
  { target_manifest }: Members,
  record: Members,
  form: ContentForm,
): RestoredRevision | { faults: readonly Fault[] } {
  const read = readContent(record)
  if ('faults' in read) return read
  const { content } = read
  const { agent_name } = target_manifest as ManifestKey
  return {
    content: encodeContent(content, form),
    content_hash: hash('sha256', contentText(content), 'buffer'),
    tools_called: toolsCalled({ agent_name, ...content }),
  }
}

function readContent(record: Members): { content: TraceContent } | { faults: readonly Fault[] } {
  const faults: Fault[] = []
  const read = reader(record, '', faults)
  if (!read) return { faults }
  const budget = openArgumentBudget()
  const spans = read.list(
    'spans',
    (value, field, found, index) => {
      const span = reader(value, field, found)
      return span && readSpan(span, index)
    },
    MAX_PARTS,
  )
  const llm_calls = read.list(
    'llm_calls',
    (value, field, found, index) => {
      const call = reader(value, field, found)
      if (!call) return undefined
      const made = readLlmCall(call, index, budget)
      // A reader takes the calls of tools from the output where a client tells none. What was stored had none.
      return isEmptyList(call.any('tool_calls')) ? { ...made, tool_calls: [] } : made
    },
    MAX_PARTS,
  )
  return faults.length > 0 ? { faults } : { content: { spans, llm_calls } }
}

/** The members that a client sends; a reader takes others for some of its own. */
function membersOf(values: Members): Members {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !KEPT_MEMBERS.has(name)))
}

function previewsOf({ user_input_preview, final_output_preview }: Members) {
  return { user_input_preview, final_output_preview } as Pick<
    Trace,
    'user_input_preview' | 'final_output_preview'
  >
}

function isEmptyList(value: unknown) {
  return Array.isArray(value) && value.length === 0
}

function timeOf(value: unknown): Date | null {
  return typeof value === 'string' ? new Date(value) : null
}

const KEPT_MEMBERS: ReadonlySet<string> = new Set([
  'project',
  'created_at',
  'is_imported',
  'revision',
  'made_of_spans',
  'settles_at',
])
/** Spans, or calls, of a trace that came in pieces. */
const MAX_PARTS = 100_000
