import { isUtf8 } from 'node:buffer'
import { findSensitive } from '../../core/sensitive.ts'
import type { SensitiveClass } from '../../core/sensitive.ts'
import type { VersionFile } from '../version-files.ts'
import type { Hit } from './finding.ts'
import type { Form, ScannedText } from './scanned-text.ts'

/** What whoever opens or runs a file would read: bytes that are no text are one character each. */
export function readText(content: Uint8Array): string {
  const [first, second] = content
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(content)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(content)
  return new TextDecoder().decode(content)
}

/** What a file is by its first bytes: a text wherever it can be one. */
export function kindOf(content: Uint8Array): 'text' | 'picture' | 'program' | 'unknown' {
  const [first, second] = content
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (isWide || (isUtf8(content) && !content.includes(0))) return 'text'
  const head = Buffer.from(content.subarray(0, 16)).toString('hex')
  const begins = (magics: string) => magics.split(' ').some((magic) => head.startsWith(magic))
  return begins(PROGRAMS) ? 'program' : begins(PICTURES) ? 'picture' : 'unknown'
}

/** What is known of a file beside its content. */
export type NamedFile = Pick<VersionFile, 'path' | 'mode'>

/** Whether a file is to be shown, by its name, and not to be run. */
export function isNamedAsPicture({ path, mode }: NamedFile): boolean {
  return mode === '0644' && PICTURE_NAME.test(path)
}

/** Why nobody can see what a binary file does; undefined for a small one that is no program. */
export function describeBinary(
  kind: ReturnType<typeof kindOf>,
  { length }: Uint8Array,
): string | undefined {
  if (kind === 'program') return `a program of ${length} bytes`
  if (kind === 'text' || length <= MAX_RUN) return undefined
  return kind === 'picture'
    ? `${length} bytes of a picture that is named otherwise`
    : `${length} bytes of no known type`
}

/** Long runs of base64 or hexadecimal digits, also broken into lines. */
export function* findBlobs({ words }: ScannedText): Generator<Hit> {
  let run = { start: 0, end: 0, length: 0 }
  for (const { index, 0: part } of words.text.matchAll(/[0-9A-Za-z+/_-]{32,}={0,2}/g)) {
    if (!/[0-9A-Za-z]/.test(part)) continue
    const goesOn = LINE_BREAK.test(words.text.slice(run.end, Math.min(index, run.end + MAX_BREAK)))
    if (!goesOn || run.length === 0) {
      yield* hitOf(words, run)
      run = { start: index, end: index, length: 0 }
    }
    run = { ...run, end: index + part.length, length: run.length + part.length }
  }
  yield* hitOf(words, run)
}

function* hitOf(form: Form, { start, length }: { start: number; length: number }): Generator<Hit> {
  if (length <= MAX_RUN) return
  const excerpt = `${length} characters of base64 or hexadecimal digits`
  yield { code: 'opaque_blob', severity: 'warning', form, offset: start, excerpt }
}

/** Between two lines of one run, which may be texts of a program. */
const LINE_BREAK = /^["']?[,+\\]?\r?\n[ \t]{0,40}["']?$/
const MAX_BREAK = 50

/** Secrets that look as if they open something. */
export function* findCredentials({ raw }: ScannedText): Generator<Hit> {
  // One by one: a placeholder in a value says nothing of a key within it.
  for (const name of SECRET_CLASSES) {
    for (const { start, end } of findSensitive(raw.text, [name])) {
      if (!isLive(name, raw.text.slice(start, end))) continue
      yield { code: 'live_credential', severity: 'critical', form: raw, offset: start }
    }
  }
}

/** No placeholder; and what no service marks as its key has to look random. */
function isLive(name: SensitiveClass, value: string) {
  if (name === 'private_key') return value.length >= MIN_PRIVATE_KEY
  if (PLACEHOLDER.test(value)) return false
  if (name !== 'secret' && name !== 'bearer') return true
  return value.length >= MIN_SECRET && isRandom(value)
}

/** Whether capitals, small letters, digits and other signs alternate more often than in words and names. */
function isRandom(value: string) {
  const kinds = value.match(/[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+/g) ?? []
  return /\d/.test(value) && kinds.length >= value.length / 4
}

const SECRET_CLASSES = ['private_key', 'jwt', 'api_key', 'bearer', 'secret'] as const
const PLACEHOLDER =
  /example|placeholder|your|xxxx|\*\*\*|\.\.\.|changeme|change-me|dummy|fake|redacted|insert|replace|sample|00000|12345678|abcdef|[<>{}$%\s]/i
const MIN_SECRET = 16
/** The shortest keys have some 100 characters; what stands for one in a document has fewer. */
const MIN_PRIVATE_KEY = 120
const MAX_RUN = 2048

/** ELF, Windows, Mach-O in its byte orders, Java or Mach-O for several processors, WebAssembly. */
const PROGRAMS = '7f454c46 4d5a feedface feedfacf cefaedfe cffaedfe cafebabe 0061736d'
/** Also fonts and documents: PNG, JPEG, GIF, RIFF, PDF, WOFF, TrueType, OpenType, ICO. */
const PICTURES =
  '89504e470d0a1a0a ffd8ff 47494638 52494646 25504446 774f46 0001000000 4f54544f 00000100'
/** The same kinds of files by their names. */
const PICTURE_NAME = /\.(?:png|jpe?g|gif|webp|pdf|woff2?|ttf|otf|ico)$/i
