import { readTextReference } from './reference.ts'
import { readTime, utcTime } from './time.ts'

/** What is wrong with a value, and where. */
export interface Fault {
  /** Path of the member, for example `llm_calls.0.tool_calls.1.tool_name`. */
  readonly field: string
  /** What the member must be, without its name: a predicate, such as `is required`. */
  readonly message: string
}

/** A fault as a sentence. */
export function describeFault({ field, message }: Fault) {
  return `${field} ${message}`
}

/** Access to the members of an object; undefined, and a fault, for what is none. */
export function reader(given: unknown, path: string, faults: Fault[]): Reader | undefined {
  if (isObject(given)) return new Reader(given, path, faults)
  faults.push({ field: path || 'body', message: 'must be an object' })
  return undefined
}

/**
 * Typed access to the members of one object. What is not of the type asked for is null, and a fault
 * under its path; so is nothing that is absent, null or, as a name, empty: that is null alone.
 */
export class Reader {
  readonly value: Readonly<Record<string, unknown>>
  readonly path: string
  readonly faults: Fault[]

  constructor(value: Readonly<Record<string, unknown>>, path: string, faults: Fault[]) {
    this.value = value
    this.path = path
    this.faults = faults
  }

  at(key: string) {
    return this.path ? `${this.path}.${key}` : key
  }

  fault(key: string, message: string) {
    this.faults.push({ field: this.at(key), message })
    return null
  }

  has(key: string) {
    const given = this.value[key]
    return given !== undefined && given !== null
  }

  any(key: string) {
    return this.value[key]
  }

  string(key: string): string | null {
    const given = this.value[key]
    if (given === undefined || given === null) return null
    return typeof given === 'string' ? given : this.fault(key, 'must be a string')
  }

  /** 1 to 256 printable characters. */
  name(key: string): string | null {
    const given = this.string(key)
    if (given === null || given === '') return null
    if (isName(given)) return given
    return this.fault(key, `must be 1 to ${MAX_NAME} printable characters`)
  }

  required(key: string): string {
    const given = this.name(key)
    const absent = !this.has(key) || this.value[key] === ''
    if (given === null && absent) this.fault(key, 'is required')
    return given ?? ''
  }

  /** As `newId`, of what may be without one: an empty text is none. */
  id(key: string): string | null {
    return this.value[key] === '' ? null : this.newId(key)
  }

  /** The id a client gives to what it sends, 1 to 128 printable characters; a number stands for its digits. */
  newId(key: string): string | null {
    const given = this.value[key]
    if (given === undefined || given === null) return null
    const text = typeof given === 'number' ? String(given) : given
    if (isClientId(text)) return text
    return this.fault(key, 'must be 1 to 128 printable characters')
  }

  /** The id of a trace that is to be there, in any form; a number stands for its digits. */
  reference(key: string): string | null {
    const given = this.value[key]
    const text = typeof given === 'number' ? String(given) : this.string(key)
    return text === null ? null : readTextReference(text)
  }

  /** Cut to `max` characters, never inside a surrogate pair. */
  text(key: string, max: number): string | null {
    const given = this.string(key)
    return given === null ? null : cut(given, max)
  }

  word<const W extends string>(key: string, words: readonly W[]): W | null {
    const given = this.string(key)
    if (given === null) return null
    const word = words.find((each) => each === given)
    return word ?? this.fault(key, `must be one of ${words.join(', ')}`)
  }

  wordOrOther<const W extends string>(key: string, words: readonly W[]): W | 'other' | null {
    const given = this.string(key)
    return given === null ? null : (words.find((each) => each === given) ?? 'other')
  }

  number(key: string): number | null {
    const given = this.value[key]
    if (given === undefined || given === null) return null
    if (typeof given === 'number' && Number.isFinite(given)) return given
    return this.fault(key, 'must be a number')
  }

  /** An integer from 0 to `max`. */
  count(key: string, max = Number.MAX_SAFE_INTEGER): number | null {
    const given = this.value[key]
    if (given === undefined || given === null) return null
    if (typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= max) {
      return given
    }
    return this.fault(key, `must be an integer from 0 to ${max}`)
  }

  flag(key: string): boolean {
    const given = this.value[key]
    if (typeof given === 'boolean') return given
    if (this.has(key)) this.fault(key, 'must be true or false')
    return false
  }

  /** An RFC 3339 time, in UTC and with the digits it was given. */
  time(key: string): string | null {
    const given = this.string(key)
    if (given === null) return null
    return utcTime(given) ?? this.fault(key, NO_TIME)
  }

  date(key: string): Date | null {
    const given = this.string(key)
    if (given === null) return null
    return readTime(given) ?? this.fault(key, NO_TIME)
  }

  object(key: string): Record<string, unknown> {
    const given = this.value[key]
    if (isObject(given)) return given
    if (this.has(key)) this.fault(key, 'must be an object')
    return {}
  }

  /**
   * Each item as `item` reads it. A faulty one is left out, and nothing is read on after `MAX_FAULTS` of
   * them.
   * @param max of items; a longer list is a fault, and none of its items is looked at
   */
  list<T>(
    key: string,
    item: (value: unknown, field: string, faults: Fault[], index: number) => T | undefined,
    max: number,
  ): T[] {
    const given = this.value[key]
    if (given === undefined || given === null) return []
    if (!Array.isArray(given)) {
      this.fault(key, 'must be a list')
      return []
    }
    if (given.length > max) {
      this.fault(key, tooMany(max))
      return []
    }
    const field = this.at(key)
    const read: T[] = []
    for (const [i, each] of given.entries()) {
      if (this.faults.length >= MAX_FAULTS) break
      const known = item(each, `${field}.${i}`, this.faults, i)
      if (known !== undefined) read.push(known)
    }
    return read
  }

  names(key: string, max: number): string[] {
    const readName = (each: unknown, field: string) => {
      if (typeof each === 'string' && isName(each)) return each
      this.faults.push({ field, message: `must be 1 to ${MAX_NAME} printable characters` })
      return undefined
    }
    return this.list(key, readName, max)
  }

  objects(key: string, max: number): Record<string, unknown>[] {
    const readObject = (each: unknown, field: string) => {
      if (isObject(each)) return each
      this.faults.push({ field, message: 'must be an object' })
      return undefined
    }
    return this.list(key, readObject, max)
  }
}

/** The fault of a list with more items than `max`. */
export const tooMany = (max: number) => `must hold at most ${max} items`

/** Faults after which the lists of a value are not read on. */
export const MAX_FAULTS = 1000

/** Cuts to `max` characters, never inside a surrogate pair. */
export function cut(text: string, max: number) {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** 1 to 256 printable characters. */
export function isName(text: string) {
  return text.length <= MAX_NAME && PRINTABLE.test(text)
}

/** Whether a value is a text that can be an id which a client gives: 1 to 128 printable characters. */
export function isClientId(value: unknown): value is string {
  return typeof value === 'string' && CLIENT_ID.test(value)
}

/** The fault of what is no time. */
export const NO_TIME = 'must be an RFC 3339 time'
const MAX_NAME = 256
const PRINTABLE = /^[^\p{Cc}\p{Cs}]+$/u
const CLIENT_ID = /^[^\p{Cc}\p{Cs}]{1,128}$/u
