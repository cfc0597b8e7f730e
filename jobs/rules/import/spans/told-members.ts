import { describeFault, isObject, NO_TIME } from '../../core/reader.ts'
import type { Fault } from '../../core/reader.ts'
import { readTraceAround } from '../../traces/read-trace.ts'
import type { TraceDefaults } from '../../traces/read-trace.ts'
import { MAX_ITEMS } from '../../traces/trace.ts'
import type { Trace, TraceContent } from '../../traces/trace.ts'
import type { Loss, Members } from '../format.ts'

/**
 * A trace around its content, of what its spans say and what records of the trace itself tell: told members
 * go before said ones, tags and metadata are united. A faulty told member is a loss, and leaves its place
 * to what the spans say.
 */
export function readTold(
  content: TraceContent,
  { said, told }: { said: Members; told: Members },
  defaults: TraceDefaults,
): { trace: Trace; losses: Loss[] } {
  const read = readTraceAround(content, together(said, told), defaults)
  const losses = [...read.faults.map(lossOf), ...read.warnings]
  const faulty = new Set(read.faults.map(({ field }) => field))
  const kept = Object.entries(told).filter(([name]) => !faulty.has(name))
  if (kept.length === Object.keys(told).length) return { trace: read.trace, losses }
  const members = together(said, Object.fromEntries(kept))
  return { trace: readTraceAround(content, members, defaults).trace, losses }
}

/** What is wrong with a member, as a loss. */
export function lossOf(fault: Fault): Loss {
  const code = fault.message === NO_TIME ? 'time_invalid' : 'member_invalid'
  return { code, message: describeFault(fault) }
}

function together(said: Members, told: Members): Members {
  const given = Object.fromEntries(
    Object.entries(told).filter(([, value]) => value !== undefined && value !== null),
  )
  const { error_message, error_code, ...rest } = said
  const status = given['status'] ?? (given['error_message'] ? 'error' : rest['status'])
  return {
    ...rest,
    ...(status === 'error' && { error_message, error_code }),
    ...given,
    status,
    tags: unitedTags(given['tags'], rest['tags']),
    metadata: unitedMetadata(given['metadata'], rest['metadata']),
  }
}

/** What is no list, or too long a one, is left for the check to find. */
function unitedTags(told: unknown = [], said: unknown = []): unknown {
  if (!Array.isArray(told) || !Array.isArray(said) || told.length > MAX_ITEMS.tags) return told
  return [...new Set<unknown>([...told, ...said])].slice(0, MAX_ITEMS.tags)
}

function unitedMetadata(told: unknown = {}, said: unknown = {}): unknown {
  return isObject(told) && isObject(said) ? { ...said, ...told } : told
}
