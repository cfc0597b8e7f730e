import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { readTool } from './contract.ts'
import type { JsonSchema } from './contract.ts'
import { contentHash, oneForm } from './manifest-hash.ts'
import type { Component } from './manifest.ts'
import { isObject } from '../core/reader.ts'
import { compareSchemas, relationOf } from './schema-change.ts'
import { saysTheSame, withoutDocs } from './schema-docs.ts'
import type { Relation } from './schema-change.ts'
import type { SchemaChange } from './schema-keywords.ts'

/** How a tool of one name differs between two manifests. */
export interface ToolChange {
  readonly arguments: SideChange
  readonly output: SideChange
}

export interface SideChange {
  /**
   * `same`: the schemas differ in documentation at most. `checked`: recorded values can be validated
   * against the new one. `unknown`: only hashes of it are given.
   */
  readonly kind: 'same' | 'checked' | 'unknown'
  /** What differs, when both schemas are given. */
  readonly changes: readonly SchemaChange[]
  readonly relation: Relation
}

/** Undefined when nothing is different. */
export function compareTools(before: Component, after: Component): ToolChange | undefined {
  if (sameContent(before, after)) {
    const versions = new Set([before.component_version, after.component_version])
    return versions.size === 1 ? undefined : { arguments: SAME, output: SAME }
  }
  const [old, now] = [readTool(before), readTool(after)]
  const described = isTold(before) && isTold(after)
  return {
    arguments: compareSides(
      { schema: old.input, hash: old.inputHash },
      { schema: now.input, hash: now.inputHash },
      { role: 'arguments', silent: described ? SAME : UNKNOWN },
    ),
    output: compareSides(
      { schema: old.output, hash: old.outputHash },
      { schema: now.output, hash: now.outputHash },
      { role: 'output', silent: SAME },
    ),
  }
}

/**
 * Whether two components have one content. Where a client hashed one of them by a rule of its own and
 * the other hash is ours, what was given of both decides.
 */
export function sameContent(a: Component, b: Component) {
  const given = [a, b].map(({ content_hash }) => oneForm(content_hash))
  if (given[0] === given[1]) return true
  const [ours, theirs] = [contentHash(a), contentHash(b)]
  return ours === theirs && given.includes(ours)
}

/**
 * What makes a tool recognisable under another name: its arguments' schema without documentation, or
 * the hash of it. Null for a tool without arguments, which looks like any other one without.
 */
export function toolFingerprint(component: Component): string | null {
  const { input, inputHash } = readTool(component)
  if (!input) return inputHash
  const { properties } = input
  const hasArguments = isObject(properties) && Object.keys(properties).length > 0
  return hasArguments ? canonicalJson(withoutDocs(input)) : null
}

/** @param silent what holds when neither tool gives anything of its schema */
function compareSides(
  old: Told,
  now: Told,
  { role, silent }: { role: 'arguments' | 'output'; silent: SideChange },
): SideChange {
  const [a, b] = [digestOf(old), digestOf(now)]
  if (a === null && b === null) return silent
  if (a === b) return SAME
  if (!now.schema) return UNKNOWN
  if (!old.schema) return { kind: 'checked', changes: [], relation: 'incomparable' }
  if (saysTheSame(old.schema, now.schema)) return SAME
  const changes = compareSchemas(old.schema, now.schema)
  return { kind: 'checked', changes, relation: relationOf(changes, role) }
}

/** Hexadecimal SHA-256 of the schema; a hash that a client gave may have been made in some other way. */
function digestOf({ schema, hash }: Told): string | null {
  if (!schema) return hash && hash.replace(/^sha256:/, '')
  return createHash('sha256').update(canonicalJson(schema)).digest('hex')
}

/** Whether more than hashes is known of a component. */
export function isTold({ schema_json }: Component) {
  return Object.keys(schema_json).length > 0
}

const SAME: SideChange = { kind: 'same', changes: [], relation: 'equal' }
const UNKNOWN: SideChange = { kind: 'unknown', changes: [], relation: 'incomparable' }

interface Told {
  schema: JsonSchema | null
  hash: string | null
}
