import { readTrace } from '../../jobs/rules/traces/read-trace.ts'

/** A trace of `agent` as it is stored when this was sent. */
export function recorded(members: object) {
  const defaults = { traceId: () => 'trace', now: new Date('2026-01-01T00:00:00Z') }
  const read = readTrace({ agent_name: 'agent', ...members }, defaults)
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return read.trace
}
