import { readTool as readContract, toolDescription } from '../manifests/contract.ts'
import type { Component } from '../manifests/manifest.ts'
import { trainingJson } from '../core/training-json.ts'
import type { TrainingCall } from './call-book.ts'
import type { TrainingMessage } from './messages.ts'
import { isObject } from '../core/reader.ts'
import type { LlmCall } from '../traces/trace.ts'

/** The tools of a training row. */
export interface Toolbox {
  /** By name, in the order of the row: canonical JSON of `{type: "function", function: {...}}`. */
  readonly texts: ReadonlyMap<string, string>
  /** All of them as a JSON list. */
  readonly json: string
  /** JSON Schemas of the arguments, where one is known. They are tenants' texts: hostile. */
  readonly schemas: ReadonlyMap<string, Schema>
  /**
   * Who says so: the calls declared them, a manifest does (that of the trace, or the one it was patched
   * for), or they are only what was seen to be called.
   */
  readonly from: 'calls' | 'manifest' | 'seen'
}

/**
 * Reads the tools that any of a trace's calls declared, each as it was declared first; where they
 * declared none, those of a manifest. A patched trace has the tools of the manifest it was patched for,
 * and those of its calls only where that knows none. Tools without a name run at the provider and are
 * never called by message; they are left out. Call after call and trace after trace declare the same list:
 * what was read of the newest ones is kept by their text.
 */
export function openToolReader() {
  const known = new Map<string, Toolbox>()
  function read(lists: readonly string[], from: Toolbox['from']) {
    const text = `${from} ${lists.join('\n')}`
    const found = known.get(text) ?? fill(lists.flatMap(readTools), from)
    // Last in the order of the map, whose first entry is the longest unused.
    known.delete(text)
    if (text.length <= KNOWN_LENGTH) known.set(text, found)
    if (known.size > KNOWN_LISTS) known.delete(known.keys().next().value as string)
    return found
  }
  function readDeclared(calls: readonly LlmCall[]) {
    const said = calls.filter(({ tools }) => tools.length > 0)
    return read([...new Set(said.map(({ tools }) => JSON.stringify(tools)))], 'calls')
  }
  /**
   * @param manifestTools JSON list of the tools that the manifest has schemas of
   * @param first whose tools are looked for first
   */
  return (
    calls: readonly LlmCall[],
    manifestTools = '[]',
    first: 'calls' | 'manifest' = 'calls',
  ): Toolbox => {
    const preferred = first === 'calls' ? readDeclared(calls) : read([manifestTools], 'manifest')
    if (preferred.from === first) return preferred
    return first === 'calls' ? read([manifestTools], 'manifest') : readDeclared(calls)
  }
}

/** The tools of a manifest as calls would declare them, a JSON list; empty when it knows no schema. */
export function manifestTools(components: readonly Component[]): string {
  const tools = components.filter(({ component_type: type }) => type === 'tool')
  const read = tools.map((tool) => ({ ...readContract(tool), description: toolDescription(tool) }))
  if (!read.some(({ input }) => input)) return '[]'
  return JSON.stringify(
    read.map(({ name, description, input }) => ({
      type: 'function',
      function: { name, description, parameters: input ?? ANYTHING },
    })),
  )
}

/** The toolbox of a row: what its calls declared, else what its manifest did and its messages call. */
export function toolsOf(declared: Toolbox, messages: readonly TrainingMessage[]): Toolbox {
  if (declared.from === 'calls') return declared
  const called = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ name }) => name))
  const others = [...new Set(called)].filter((name) => !declared.texts.has(name)).sort()
  if (others.length === 0) return declared
  const seen = others.flatMap((name) => readTool({ name, parameters: ANYTHING }))
  const texts = new Map([...declared.texts, ...seen.map(({ name, text }) => [name, text] as const)])
  return { ...declared, texts, json: listOf(texts) }
}

/** What is wrong with the calls of a conversation: a word of `dropped_counts`, or undefined. */
export function faultOfCalls(messages: readonly TrainingMessage[], tools: Toolbox) {
  for (const { tool_calls = [] } of messages) {
    for (const { name, parsed } of tool_calls) {
      if (!tools.texts.has(name)) return 'invalid.tool_undeclared'
      const schema = tools.schemas.get(name)
      if (schema && !fits(parsed, schema)) return 'invalid.arguments'
    }
  }
  return undefined
}

/**
 * Redacted arguments that fit their schema where the original ones did: a text in the place of another value
 * becomes null where the schema wants no text. Undefined where that does not fit either; the same object
 * where nothing became null.
 */
export function refit(redacted: Arguments, original: Arguments, schema: Schema | undefined) {
  if (!schema || !fits(original, schema) || fits(redacted, schema)) return redacted
  const members = Object.entries(redacted).map(([name, value]) => {
    const isReplaced = typeof value === 'string' && typeof original[name] !== 'string'
    return [name, isReplaced && !isAdmitted(name, value, schema) ? null : value]
  })
  const refitted = Object.fromEntries(members) as Arguments
  return fits(refitted, schema) ? refitted : undefined
}

function fill(tools: readonly Tool[], from: Toolbox['from']): Toolbox {
  const first = new Map<string, Tool>()
  for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool)
  const kept = [...first.values()]
  const texts = new Map(kept.map(({ name, text }) => [name, text]))
  return {
    texts,
    json: listOf(texts),
    schemas: new Map(kept.flatMap(({ name, schema }) => (schema ? [[name, schema]] : []))),
    from: kept.length > 0 ? from : 'seen',
  }
}

function listOf(texts: Toolbox['texts']) {
  return `[${[...texts.values()].join(',')}]`
}

function readTools(json: string) {
  return (JSON.parse(json) as Record<string, unknown>[]).flatMap(readTool)
}

/** OpenAI nests a tool under `function`; others write it flat, Anthropic with `input_schema`. */
function readTool(tool: Record<string, unknown>): Tool[] {
  const nested = tool['function']
  const { description, parameters, input_schema } = tool
  const given = isObject(nested)
    ? nested
    : { name: tool['name'], description, parameters: parameters ?? input_schema }
  const made = Object.fromEntries(
    Object.entries(given).filter(([, value]) => (value ?? null) !== null),
  )
  const { name, parameters: schema } = made
  const text = trainingJson({ type: 'function', function: made })
  if (typeof name !== 'string' || name === '' || text === undefined) return []
  return [{ name, text, schema: isObject(schema) ? schema : undefined }]
}

/**
 * Whether arguments have the members a schema requires, none that it forbids, and each of the type it
 * says. Deeper rules are not looked at: a schema may hold patterns that take for ever to run.
 */
function fits(args: Arguments, schema: Schema) {
  const { required } = schema
  if (
    Array.isArray(required) &&
    !required.every((name) => typeof name !== 'string' || Object.hasOwn(args, name))
  ) {
    return false
  }
  return Object.entries(args).every(([name, value]) => isAdmitted(name, value, schema))
}

function isAdmitted(name: string, value: unknown, schema: Schema) {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  if (!Object.hasOwn(properties, name)) return schema['additionalProperties'] !== false
  const property = properties[name]
  return !isObject(property) || isOfType(value, property['type'])
}

/** Types that JSON Schema does not know accept everything. */
function isOfType(value: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((one) => isOfType(value, one))
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return true
  }
}

/** Schema of the arguments of a tool nothing is known of. */
const ANYTHING = { type: 'object' }
/** Lists of tools kept, and the longest one that is, in characters of JSON. */
const KNOWN_LISTS = 64
const KNOWN_LENGTH = 1 << 20

type Schema = Readonly<Record<string, unknown>>
type Arguments = TrainingCall['parsed']
interface Tool {
  readonly name: string
  readonly text: string
  readonly schema: Schema | undefined
}
