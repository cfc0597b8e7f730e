import { canonicalJson } from '../core/canonical-json.ts'
import { messageOf } from '../core/error-message.ts'
import { contentHash } from './manifest-hash.ts'
import { byTypeAndName, COMPONENT_TYPES } from './manifest.ts'
import type { Component, ComponentType } from './manifest.ts'
import { reader } from '../core/reader.ts'
import type { Fault, Reader } from '../core/reader.ts'

/**
 * Reads the components of a registration, in byte order of type and name. `type`, `name`, `version`
 * and `content` stand for the longer words; a component given twice in the same words is one.
 */
export function readComponents(value: unknown, faults: Fault[]): Component[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > MAX_COMPONENTS) {
    const message = `must be a list of at most ${MAX_COMPONENTS}`
    faults.push({ field: 'components', message })
    return []
  }
  const components = value.map((each, i) => readComponent(each, `components.${i}`, faults))
  const unique = distinct(components.filter(isPresent), faults)
  const bytes = unique.reduce((sum, { schema_json }) => sum + sizeOf(schema_json), 0)
  if (bytes > MAX_MANIFEST_BYTES) {
    const message = `must have at most ${MAX_MANIFEST_BYTES} bytes together`
    faults.push({ field: 'components', message })
  }
  return unique
}

function readComponent(value: unknown, field: string, faults: Fault[]): Component | undefined {
  const read = reader(value, field, faults)
  if (!read) return undefined
  const before = faults.length
  const type = readType(read)
  const component_name = read.name('component_name') ?? read.name('name')
  if (component_name === null) read.fault('component_name', 'is required')
  const schema_json = readContent(read)
  const component_version = read.id('component_version') ?? read.id('version')
  const given = read.name('content_hash')
  if (sizeOf(schema_json) > MAX_SCHEMA_BYTES) {
    read.fault('schema_json', `must have at most ${MAX_SCHEMA_BYTES} bytes`)
  }
  checkCanonical(schema_json, read)
  if (faults.length > before || type === null || component_name === null) return undefined
  const component = { component_type: type, component_name, component_version, schema_json }
  return { ...component, content_hash: given ?? contentHash(component) }
}

function readType(read: Reader): ComponentType | null {
  const key = read.has('component_type') ? 'component_type' : 'type'
  if (read.any(key) === 'output_schema') return 'output_contract'
  if (!read.has(key)) read.fault('component_type', 'is required')
  return read.word(key, COMPONENT_TYPES)
}

/** A text instead of an object is the component's text, as prompts and skills have. */
function readContent(read: Reader): Record<string, unknown> {
  const key = read.has('schema_json') ? 'schema_json' : 'content'
  const content = read.any(key)
  return typeof content === 'string' ? { content } : read.object(key)
}

function checkCanonical(schema: Record<string, unknown>, read: Reader) {
  try {
    canonicalJson(schema)
  } catch (error) {
    read.fault('schema_json', `is not storable: ${messageOf(error)}`)
  }
}

function distinct(components: Component[], faults: Fault[]) {
  const sorted = components.sort(byTypeAndName)
  return sorted.filter((component, i) => {
    const before = sorted[i - 1]
    if (!before || byTypeAndName(before, component) !== 0) return true
    if (canonicalJson(before) !== canonicalJson(component)) {
      const named = `${component.component_type} ${component.component_name}`
      faults.push({ field: 'components', message: `has two different ones: ${named}` })
    }
    return false
  })
}

function sizeOf(schema: Record<string, unknown>) {
  return Buffer.byteLength(JSON.stringify(schema))
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined
}

export const MAX_COMPONENTS = 500
const MAX_SCHEMA_BYTES = 64 << 10
const MAX_MANIFEST_BYTES = 1 << 20
