import { isObject } from '../../core/reader.ts'
import { NOT_UTF8 } from './otlp-messages.ts'
import type { Loss, Members } from '../format.ts'

/**
 * A member of an OTLP message under its name in the JSON encoding, or under the one it has in protobuf,
 * which some exporters write.
 */
export function memberOf(message: Members, name: string): unknown {
  if (Object.hasOwn(message, name)) return message[name]
  const plain = PLAIN_NAMES.get(name)
  return plain !== undefined && Object.hasOwn(message, plain) ? message[plain] : undefined
}

/** A text of an OTLP message; undefined for none, which an empty one is too, and for a loss. */
export function textIn(message: Members, name: string, losses: Loss[]): string | undefined {
  const value = memberOf(message, name) ?? ''
  if (typeof value !== 'string') losses.push(invalid(name))
  noteMended(message, name, name, losses)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Counts a text of a message that was no UTF-8 as a loss. */
export function noteMended(message: Members, name: string, shown: string, losses: Loss[]) {
  const mended = message[NOT_UTF8]
  if (!Array.isArray(mended) || !mended.includes(name)) return
  losses.push({ code: 'member_invalid', message: `${shown} is no UTF-8` })
}

/** The items of a list of an OTLP message; what is no object is a loss. */
export function itemsOf(message: Members, name: string, losses: Loss[]): readonly Members[] {
  const given = memberOf(message, name)
  if (given === undefined || given === null) return []
  const items = Array.isArray(given) ? given.filter(isObject) : []
  if (!Array.isArray(given) || items.length < given.length) losses.push(invalid(name))
  return items
}

/** Attributes as JSON, by their keys. Of two of one key the first one counts; the other one is a loss. */
export function attributesOf(message: Members, losses: Loss[]): Members {
  return keyValues(itemsOf(message, 'attributes', losses), losses, 0)
}

/**
 * The id of a trace or a span as lower-case hexadecimal digits: from such digits in any case, or base64.
 * @param bytes how many it has
 * @returns null for none, which all zeros are too; undefined for what is no id
 */
export function hexId(given: unknown, bytes: number): string | null | undefined {
  if (given === undefined || given === null || given === '') return null
  if (typeof given !== 'string') return undefined
  const hex = given.length === 2 * bytes ? given.toLowerCase() : hexOfBase64(given, bytes)
  if (hex === undefined || !HEX.test(hex)) return undefined
  return ZEROS.test(hex) ? null : hex
}

/** The loss of a member that is not of its type. */
export function invalid(name: string): Loss {
  return { code: 'member_invalid', message: `${name} is not of its type` }
}

function hexOfBase64(given: string, bytes: number): string | undefined {
  if (given.length > 2 * bytes || !BASE64.test(given)) return undefined
  const decoded = Buffer.from(given, 'base64')
  return decoded.length === bytes ? decoded.toString('hex') : undefined
}

function keyValues(list: readonly Members[], losses: Loss[], depth: number): Members {
  const values = new Map<string, unknown>()
  for (const each of list) {
    const key = each['key'] ?? ''
    noteMended(each, 'key', 'the key of an attribute', losses)
    if (typeof key !== 'string') losses.push(invalid('key'))
    else if (values.has(key)) losses.push(invalid(`attribute ${key}`))
    else values.set(key, valueOf(each['value'], key, losses, depth))
  }
  return Object.fromEntries(values)
}

/** A value as JSON: a whole number that a double cannot hold as its digits, bytes as base64, none as null. */
function valueOf(value: unknown, key: string, losses: Loss[], depth: number): unknown {
  if (value === undefined || value === null) return null
  const [kind, given] = isObject(value) ? kindOf(value) : []
  if (kind === null) return null
  if (isObject(value)) noteMended(value, 'stringValue', `attribute ${key}`, losses)
  const read = kind && depth < MAX_NESTING ? KINDS[kind](given, key, losses, depth + 1) : undefined
  if (read === undefined) losses.push(invalid(`attribute ${key}`))
  return read ?? null
}

/** A member that is null is not set: some write all kinds that a value may have. */
function kindOf(value: Members): readonly [Kind | null | undefined, unknown] {
  for (const kind of KIND_NAMES) {
    const given = memberOf(value, kind)
    if (given !== undefined && given !== null) return [kind, given]
  }
  return [Object.values(value).every((each) => each === null) ? null : undefined, undefined]
}

const textOf = (given: unknown) => (typeof given === 'string' ? given : undefined)

/** Digits stay a text where a number would lose some of them. */
function wholeOf(given: unknown) {
  if (typeof given === 'number') return Number.isInteger(given) ? given : undefined
  if (typeof given !== 'string' || !WHOLE.test(given)) return undefined
  return Number.isSafeInteger(Number(given)) ? Number(given) : given
}

/** JSON has no infinity and no word for what is no number: these are texts in OTLP too. */
function doubleOf(given: unknown) {
  if (typeof given === 'number') return Number.isFinite(given) ? given : String(given)
  if (typeof given !== 'string' || given.trim() === '') return undefined
  if (NO_NUMBERS.has(given)) return given
  return Number.isFinite(Number(given)) ? Number(given) : undefined
}

function listOf(given: unknown, key: string, losses: Loss[], depth: number) {
  if (!isObject(given)) return undefined
  const values = given['values'] ?? []
  if (!Array.isArray(values)) return undefined
  return values.map((each) => valueOf(each, key, losses, depth))
}

function objectOf(given: unknown, losses: Loss[], depth: number) {
  return isObject(given) ? keyValues(itemsOf(given, 'values', losses), losses, depth) : undefined
}

const KINDS: Readonly<Record<Kind, ReadKind>> = {
  stringValue: textOf,
  intValue: wholeOf,
  boolValue: (given) => (typeof given === 'boolean' ? given : undefined),
  doubleValue: doubleOf,
  arrayValue: listOf,
  kvlistValue: (given, _, losses, depth) => objectOf(given, losses, depth),
  bytesValue: textOf,
}
const KIND_NAMES = [
  'stringValue',
  'intValue',
  'boolValue',
  'doubleValue',
  'arrayValue',
  'kvlistValue',
  'bytesValue',
] as const
/** Names in protobuf by those in JSON, where they differ. */
const PLAIN_NAMES = new Map(
  [
    ...KIND_NAMES,
    ...`resourceSpans scopeSpans schemaUrl traceId spanId parentSpanId traceState startTimeUnixNano
    endTimeUnixNano timeUnixNano droppedAttributesCount droppedEventsCount droppedLinksCount`.split(
      /\s+/,
    ),
  ].map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
)
export const TRACE_ID_BYTES = 16
export const SPAN_ID_BYTES = 8
/** Values within values. */
const MAX_NESTING = 32
const HEX = /^[0-9a-f]+$/
const ZEROS = /^0+$/
const BASE64 = /^[\w+/-]+={0,2}$/
const WHOLE = /^-?\d{1,20}$/
const NO_NUMBERS = new Set(['NaN', 'Infinity', '-Infinity'])

type Kind = (typeof KIND_NAMES)[number]
/** Undefined for what is not of the kind. */
type ReadKind = (given: unknown, key: string, losses: Loss[], depth: number) => unknown
