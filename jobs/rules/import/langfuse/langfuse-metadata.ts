import { isObject } from '../../core/reader.ts'
import { parsedJson } from '../foreign/foreign-value.ts'
import type { Members } from '../format.ts'
import type { MembersLeft } from '../foreign/members-left.ts'
import { asObject, membersOf, take, untold } from '../foreign/members-left.ts'

/**
 * The metadata of an observation. What came by OpenTelemetry is in up to three objects there. Exports write
 * them as objects, as JSON text, or member by member: `attributes.gen_ai.tool.name`.
 */
export function openMetadata(given: unknown): MembersLeft {
  const metadata = membersOf(parsedJson(given))
  for (const name of SENT) {
    const whole = parsedJson(metadata.get(name))
    const flat = [...metadata].filter(([key]) => key.startsWith(`${name}.`))
    if (metadata.has(name) ? !isObject(whole) : flat.length === 0) continue
    for (const [key] of flat) metadata.delete(key)
    const members = flat.map(([key, value]) => [key.slice(name.length + 1), value] as const)
    metadata.set(name, { ...(whole as object | undefined), ...Object.fromEntries(members) })
  }
  return metadata
}

/** The metadata of a trace without a row of its own, by that of its root: all but these objects. */
export function metadataOfTrace(given: unknown): Members {
  const metadata = openMetadata(given)
  for (const name of SENT) take(metadata, [name], asObject)
  return untold(metadata)
}

/** What OpenTelemetry says of an observation. */
const SENT = ['attributes', 'resourceAttributes', 'scope']
