import { orderBytes } from '../core/order.ts'
import { isObject } from '../core/reader.ts'
import { isStorableJson } from '../core/storable.ts'
import { yamlText } from '../core/yaml.ts'

/** A frontmatter as its author wrote it, of JSON values. */
export type Frontmatter = Readonly<Record<string, unknown>>

/**
 * What may be shown of a frontmatter to other organizations: the keys of the Agent Skills format. All
 * other keys, such as notes and trigger phrases, are their author's own.
 */
export function publicFrontmatter(frontmatter: Frontmatter): Frontmatter {
  return Object.fromEntries(
    Object.entries(frontmatter).filter(
      ([key, value]) =>
        (TEXT_KEYS.includes(key) && isTextOrTexts(value)) ||
        (key === 'metadata' && isObject(value)),
    ),
  )
}

/** Whether a frontmatter says that no model may start the skill. Clients that read no YAML types send text. */
export function isForUsersOnly({ 'disable-model-invocation': word }: Frontmatter): boolean {
  return word === true || word === 'true'
}

/** Why no skill can have this frontmatter, as a message without its subject; undefined when one can. */
export function faultOfFrontmatter(frontmatter: object): string | undefined {
  const json = JSON.stringify(frontmatter)
  if (Buffer.byteLength(json) > MAX_BYTES) return 'must be at most 16 KiB of JSON'
  if (hasLongKey(frontmatter)) return 'must have keys of at most 1,024 characters, as JSON'
  // What would be stored instead is not what was sent.
  return isStorableJson(json) ? undefined : 'must be text without NUL and lone surrogates'
}

/** Whether a key, at any depth, is longer than readers of YAML take one for. */
export function hasLongKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, entry]) => yamlText(key).length > MAX_WRITTEN_KEY || hasLongKey(entry),
  )
}

/**
 * Writes frontmatter, fences included, as YAML that readers of 1.1 and 1.2 read alike. The keys of the
 * Agent Skills format come first, the others by their bytes.
 * @param written by the author; what is decided takes its place
 */
export function writeFrontmatter(
  { name, description, isForUsersOnly, metadata = {} }: DecidedFrontmatter,
  written: Frontmatter,
): string {
  const texts = TEXT_KEYS.map((key) => [key, written[key]] as const)
  const others = Object.entries(written)
    .filter(([key]) => !FORMAT_KEYS.includes(key))
    .toSorted(([a], [b]) => orderBytes(a, b))
  const lines = [
    ['name', name] as const,
    ['description', description] as const,
    ...texts,
    ['disable-model-invocation', isForUsersOnly || undefined] as const,
    ['metadata', uniteMetadata(written['metadata'], metadata)] as const,
    ...others,
  ].flatMap(([key, value]) => (value === undefined ? [] : writeEntry(key, value)))
  return ['---', ...lines, '---', ''].join('\n')
}

/** What is decided by others than the author of the frontmatter. */
export interface DecidedFrontmatter {
  readonly name: string
  readonly description: string
  /** No model may start the skill. */
  readonly isForUsersOnly: boolean
  /** Entries that take the place of the author's. */
  readonly metadata?: Readonly<Record<string, string>>
}

function uniteMetadata(written: unknown, decided: Readonly<Record<string, string>>): unknown {
  if (Object.keys(decided).length === 0) return written
  return { ...(isObject(written) && written), ...decided }
}

function writeEntry(key: string, value: unknown): string[] {
  if (key !== 'metadata' || !isObject(value) || Object.keys(value).length === 0) {
    return [`${writeKey(key)}: ${writeValue(value)}`]
  }
  // The format knows only texts here.
  const entries = Object.entries(value).toSorted(([a], [b]) => orderBytes(a, b))
  const lines = entries.map(([name, entry]) => {
    const text = typeof entry === 'string' ? entry : JSON.stringify(entry)
    return `  ${writeKey(name)}: ${writeValue(text)}`
  })
  return ['metadata:', ...lines]
}

function writeKey(key: string) {
  return PLAIN_KEY.test(key) && !isReserved(key) ? key : yamlText(key)
}

function writeValue(value: unknown) {
  const isPlain =
    typeof value === 'string' &&
    PLAIN_TEXT.test(value) &&
    !value.endsWith(' ') &&
    !isReserved(value)
  return isPlain ? value : yamlText(value)
}

/** Words that a YAML reader takes for something else than a text. */
function isReserved(text: string) {
  return RESERVED.includes(text.toLowerCase())
}

function isTextOrTexts(value: unknown) {
  return (Array.isArray(value) ? value : [value]).every((item) => typeof item === 'string')
}

/** Keys of the format whose values are the author's. */
const TEXT_KEYS: readonly string[] = ['license', 'compatibility', 'allowed-tools']
const FORMAT_KEYS: readonly string[] = [
  'name',
  'description',
  ...TEXT_KEYS,
  'disable-model-invocation',
  'metadata',
]
/** Characters before the colon, as YAML 1.1 and 1.2 say of keys that nothing marks. */
const MAX_WRITTEN_KEY = 1024
const PLAIN_KEY = /^[A-Za-z][A-Za-z0-9_-]*$/
const PLAIN_TEXT = /^[A-Za-z][A-Za-z0-9 _.,/()'+-]*$/
const RESERVED: readonly string[] = 'true false yes no on off null y n'.split(' ')

const MAX_BYTES = 16 * 1024
