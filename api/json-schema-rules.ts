import type { Arguments, Described } from './joi-description.ts'

/** A schema object of OpenAPI 3.0. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A closed set of words; null among them where it is allowed. */
export function wordsOf({ type, allow = [] }: Described): JsonSchema {
  return { ...(['string', 'number', 'boolean'].includes(type) && { type }), enum: allow }
}

export function rulesOf(described: Described): JsonSchema {
  const rules = (described.rules ?? []).map(({ name, args }) => ruleOf(described.type, name, args))
  const isText = described.type === 'string' && !described.allow?.includes('')
  return Object.assign(isText ? { minLength: 1 } : {}, ...rules)
}

function ruleOf(type: string, name: string, args: Arguments | undefined): JsonSchema {
  const limit = args?.limit
  const size = type === 'array' ? 'Items' : type === 'object' ? 'Properties' : 'Length'
  switch (name) {
    case 'min':
      return typeof limit !== 'number'
        ? {}
        : { [type === 'number' ? 'minimum' : `min${size}`]: limit }
    case 'max':
      return typeof limit !== 'number'
        ? {}
        : { [type === 'number' ? 'maximum' : `max${size}`]: limit }
    case 'length':
      return { [`min${size}`]: limit, [`max${size}`]: limit }
    case 'greater':
      return { minimum: limit, exclusiveMinimum: true }
    case 'less':
      return { maximum: limit, exclusiveMaximum: true }
    case 'unique':
      return { uniqueItems: true }
    case 'guid':
      return { format: 'uuid' }
    case 'isoDate':
      return { format: 'date-time' }
    case 'uri':
      return { format: 'uri' }
    case 'email':
      return { format: 'email' }
    case 'hex':
      return { pattern: '^[0-9a-fA-F]*$' }
    case 'pattern':
      return patternOf(args?.regex ?? '')
    default:
      return {}
  }
}

/** @param regex as it is written in JavaScript; one with flags that change its meaning is left out */
function patternOf(regex: string): JsonSchema {
  const [, source, flags] = /^\/(.*)\/([a-z]*)$/s.exec(regex) ?? []
  return source === undefined || /[^u]/.test(flags ?? '') ? {} : { pattern: source }
}

export function has({ rules = [] }: Described, rule: string) {
  return rules.some(({ name }) => name === rule)
}
