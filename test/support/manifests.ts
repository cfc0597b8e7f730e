import { contentHash } from '../../jobs/rules/manifests/manifest-hash.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifests/manifest.ts'
import type { Component, ComponentType, Manifest } from '../../jobs/rules/manifests/manifest.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import fc from './property.ts'

/** A component with its schema told; `{}` and a hash of its own when only that is given. */
export function component(
  component_type: ComponentType,
  component_name: string,
  schema_json: Record<string, unknown>,
  more: Partial<Component> = {},
): Component {
  const told = { component_type, component_name, component_version: null, schema_json }
  return { ...told, content_hash: contentHash(told), ...more }
}

export function tool(name: string, properties: object, required: string[] = [], more: object = {}) {
  const input_schema = { type: 'object', properties, required, ...more }
  return component('tool', name, { input_schema })
}

export function manifest(...components: Component[]): Manifest {
  return { components, is_closed_world: false }
}

/** A finished trace of one LLM call with the given tool calls. */
export function traceOf(
  calls: readonly (readonly [tool: string, args: unknown, result?: unknown])[],
  more: Record<string, unknown> = {},
): Trace {
  const tool_calls = calls.map(([tool_name, args, result]) => ({ tool_name, args, result }))
  const read = readTrace(
    {
      agent_name: 'support',
      user_input_preview: 'hello',
      llm_calls: [{ model_name: 'gpt-4o', tool_calls }],
      ...more,
    },
    { traceId: () => 't1', now: new Date(0) },
  )
  if (!('trace' in read)) throw new Error(JSON.stringify(read.faults))
  return read.trace
}

/** Manifests of a few components whose names often meet. */
export function manifests(): fc.Arbitrary<Manifest> {
  const one = fc
    .tuple(fc.constantFrom(...COMPONENT_TYPES), fc.constantFrom('a', 'b', 'c', 'd'), schemas())
    .map(([type, name, input_schema]) =>
      component(type, name, type === 'tool' ? { input_schema } : { input_schema, text: name }),
    )
  return fc
    .uniqueArray(one, {
      selector: ({ component_type, component_name }) => `${component_type}:${component_name}`,
      maxLength: 8,
    })
    .map((components) => manifest(...components))
}

/** Object schemas of a few parameters, as tools have them. */
export function schemas(): fc.Arbitrary<Record<string, unknown>> {
  const parameter = fc.record(
    {
      type: fc.constantFrom('string', 'integer', 'number', 'boolean'),
      description: fc.constantFrom('x', 'y'),
      maximum: fc.integer({ min: 0, max: 9 }),
      default: fc.constantFrom('usd', 3),
    },
    { requiredKeys: [] },
  )
  const names = ['p', 'q', 'r']
  return fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom(...names), parameter, { maxKeys: 3 }),
      required: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
      additionalProperties: fc.boolean(),
    },
    { requiredKeys: ['type', 'properties'] },
  )
}
