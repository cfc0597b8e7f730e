import { trainingJson } from './training-json.ts'
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
  /** The model was offered these tools; otherwise they are what it was seen to call. */
  readonly declared: boolean
}

/**
 * Reads the tools that any of a trace's calls declared, each as it was declared first. Tools without a
 * name run at the provider and are never called by message; they are left out. Call after call and
 * trace after trace declare the same list: what was read of the newest ones is kept by their text.
 */
export function openToolReader() {
  const known = new Map<string, Toolbox>()
  return (calls: readonly LlmCall[]): Toolbox => {
    const said = calls.filter(({ tools }) => tools.length > 0)
    const lists = new Set(said.map(({ tools }) => JSON.stringify(tools)))
    const text = [...lists].join('\n')
    const found = known.get(text) ?? fill([...lists].flatMap(readTools), lists.size > 0)
    // Last in the order of the map, whose first entry is the longest unused.
    known.delete(text)
    if (text.length <= KNOWN_LENGTH) known.set(text, found)
    if (known.size > KNOWN_LISTS) known.delete(known.keys().next().value as string)
    return found
  }
}

/** The toolbox of a row: what was declared, else the tools its messages call, by name. */
export function toolsOf(declared: Toolbox, messages: readonly TrainingMessage[]): Toolbox {
  if (declared.declared) return declared
  const names = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ name }) => name))
  const made = [...new Set(names)]
    .sort()
    .flatMap((name) => readTool({ name, parameters: ANYTHING }))
  return fill(made, false)
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

function fill(tools: readonly Tool[], declared: boolean): Toolbox {
  const first = new Map<string, Tool>()
  for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool)
  const kept = [...first.values()]
  return {
    texts: new Map(kept.map(({ name, text }) => [name, text])),
    json: `[${kept.map(({ text }) => text).join(',')}]`,
    schemas: new Map(kept.flatMap(({ name, schema }) => (schema ? [[name, schema]] : []))),
    declared: declared && kept.length > 0,
  }
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
function fits(args: Readonly<Record<string, unknown>>, schema: Schema) {
  const { required, additionalProperties } = schema
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  if (
    Array.isArray(required) &&
    !required.every((name) => typeof name !== 'string' || Object.hasOwn(args, name))
  ) {
    return false
  }
  return Object.entries(args).every(([name, value]) => {
    if (!Object.hasOwn(properties, name)) return additionalProperties !== false
    const property = properties[name]
    return !isObject(property) || isOfType(value, property['type'])
  })
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
interface Tool {
  readonly name: string
  readonly text: string
  readonly schema: Schema | undefined
}
