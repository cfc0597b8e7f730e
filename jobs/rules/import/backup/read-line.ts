import { isObject } from '../../core/reader.ts'
import { isUuid } from '../../core/uuid.ts'
import { isStorableJson, isStorableText } from '../../core/storable.ts'
import type { Members, Refusal } from '../format.ts'
import { KINDS } from './lines.ts'
import type { KindName } from './lines.ts'
import type { Kind } from './kind.ts'
import type { Member } from './member.ts'
import { isTime, MAX_VERSION_NUMBER } from './json-shapes.ts'

/** A line of a kind, whose members are of their types. */
export interface BackupLine {
  readonly kind: KindName
  /** By name; an absent member is null. */
  readonly values: Readonly<Record<string, unknown>>
}

const BY_NAME: ReadonlyMap<string, Kind> = new Map(KINDS.map((kind) => [kind.name, kind]))

/** @throws TypeError for a name of none */
export function kindOf(name: string): Kind {
  const kind = BY_NAME.get(name)
  if (!kind) throw new TypeError(`No line of a backup is a ${name}`)
  return kind
}

/** Whether a text names a kind of lines; the first and the last line are none. */
export function isKindName(name: unknown): name is KindName {
  return typeof name === 'string' && BY_NAME.has(name)
}

/**
 * Checks the members of a line, but not its content. Members that its kind does not have are left out, so
 * that what a later release adds is no fault.
 * @param latestMs what says to be there since a later time would be found by no export, deletion or retention
 */
export function readLine(name: KindName, record: Members, latestMs: number): BackupLine | Refusal {
  const kind = kindOf(name)
  const values: Record<string, unknown> = {}
  for (const member of kind.members) {
    const given = record[member.name] ?? null
    const message =
      faultOf(member, given) ??
      faultOfShape(kind, member.name, given) ??
      faultOfTime(kind, member, given, latestMs)
    if (message) return invalid(`${name}: ${member.name}${message}`)
    values[member.name] = given
  }
  const message = kind.fault?.(values)
  return message ? invalid(`${name}: ${message}`) : { kind: name, values }
}

function invalid(message: string): Refusal {
  return { code: 'invalid_line', message }
}

/** What is wrong with the value of a member; undefined for nothing. */
function faultOf({ type, isNullable }: Member, value: unknown): string | undefined {
  if (value === null) return isNullable ? undefined : ' is required'
  const [isType, expected] = TYPES[type]
  if (!isType(value)) return ` must be ${expected}`
  return isStorable(type, value) ? undefined : ' must have no NUL and no lone surrogates'
}

/** What is wrong within a value whose type is right. */
function faultOfShape({ shapes }: Kind, name: string, value: unknown): string | undefined {
  const [fault] =
    value === null ? [] : (shapes[name]?.validate(value, AS_WRITTEN).error?.details ?? [])
  if (!fault) return undefined
  const path = fault.path.map((step) => `.${step}`).join('')
  return `${path} ${fault.message}`.slice(0, MAX_MESSAGE)
}

function faultOfTime({ since, aheadMs }: Kind, { name }: Member, value: unknown, latestMs: number) {
  const ahead = name === since ? 0 : aheadMs[name]
  if (typeof value !== 'string' || ahead === undefined) return undefined
  if (Date.parse(value) <= latestMs + ahead) return undefined
  return ahead === 0 ? ' must not be later than now' : ' is too far ahead'
}

/** Rows of other tables are made of components, so that the database refuses none of them alone. */
function isStorable(type: Member['type'], value: unknown) {
  return type !== 'components' || isStorableJson(JSON.stringify(value))
}

const isInt = (value: unknown) => Number.isSafeInteger(value)
const isVersionNumber = (value: unknown) =>
  isInt(value) && (value as number) >= 1 && (value as number) <= MAX_VERSION_NUMBER
const isFinite = (value: unknown) => Number.isFinite(value)
const isId = (value: unknown) => typeof value === 'string' && isUuid(value)
const isBase64 = (value: unknown) => typeof value === 'string' && BASE64.test(value)
const isManifest = (value: unknown) =>
  isObject(value) && isStorableText(value['agent_name']) && isStorableText(value['manifest_hash'])
const isManifestWithin = (value: unknown) => isManifest(value) && isId((value as Members)['id'])
const listOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.length <= MAX_LIST && value.every(isItem)

/** A line is checked and kept as it is. */
const AS_WRITTEN = { convert: false, errors: { label: false } } as const
const MAX_MESSAGE = 500
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** Items of a list of a line; a selection of traces is the longest there is. */
const MAX_LIST = 100_000
const TEXT = [isStorableText, 'a text without NUL and lone surrogates'] as const
const INT = [isInt, 'an integer'] as const

/** What a value of each type is, and how that is said. */
const TYPES = {
  text: TEXT,
  int: INT,
  float: [isFinite, 'a number'],
  boolean: [(value: unknown) => typeof value === 'boolean', 'true or false'],
  uuid: [isId, 'a UUID'],
  time: [isTime, 'an RFC 3339 time in UTC with milliseconds'],
  bytes: [isBase64, 'base64'],
  json: [() => true, 'JSON'],
  texts: [listOf(isStorableText), `a list of at most ${MAX_LIST} texts`],
  ints: [listOf(isInt), `a list of at most ${MAX_LIST} integers`],
  workspace: TEXT,
  project: TEXT,
  skill: TEXT,
  dataset: TEXT,
  skill_version: [isVersionNumber, 'the number of a version'],
  public_skill: TEXT,
  public_version: [isVersionNumber, 'the number of a version'],
  manifest: [isManifest, 'a manifest: {agent_name, manifest_hash}'],
  manifests: [listOf(isManifest), `a list of at most ${MAX_LIST} manifests`],
  manifests_within: [
    listOf(isManifestWithin),
    `a list of at most ${MAX_LIST} manifests: {id, agent_name, manifest_hash}`,
  ],
  components: [Array.isArray, 'a list of components'],
  blob: [isBase64, 'base64'],
} as const satisfies Record<Member['type'], readonly [(value: unknown) => boolean, string]>
