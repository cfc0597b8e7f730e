import { atOnce, inSteps } from '../core/in-steps.ts'
import type { Pause } from '../core/in-steps.ts'
import { parseInPieces } from '../core/json-pieces.ts'
import {
  compressInThread,
  compressText,
  inflateInThread,
  inflateText,
  peekText,
  ZSTD_MAGIC,
} from '../core/zstd.ts'
import { openShared, sharedPieces } from './shared-content.ts'
import { openSharedText } from './shared-text.ts'
import type { Piece } from './shared-content.ts'
import type { TraceContent } from './trace.ts'

/**
 * How contents are stored. `whole` is `contentText` in zstd; `shared` has what the calls of a trace repeat
 * once (`shared-content.ts`), behind a byte of its own. Either says exactly what `contentText` does.
 * Releases before the second one read only the first.
 */
export type ContentForm = 'whole' | 'shared'

/** The JSON text of a content, whatever form it is stored in. */
export function contentText({ spans, llm_calls }: TraceContent): string {
  return JSON.stringify({ spans, llm_calls })
}

/** @param form the newest that may be written; less than two calls share nothing, and are whole */
export function encodeContent(content: TraceContent, form: ContentForm): Buffer {
  if (!isShared(content, form)) return compressText(contentText(content))
  let text = ''
  for (const piece of sharedPieces(content)) text += piece.text
  return withMark(compressText(text))
}

export interface EncodingInSteps {
  readonly form: ContentForm
  /** Characters of `contentText`; default no bound. */
  readonly max?: number
  readonly pause: Pause
}

/** As `encodeContent`, in steps; a thread compresses a large one. Undefined for more than `max` characters. */
export async function encodeContentInSteps(
  content: TraceContent,
  { form, max = Infinity, pause }: EncodingInSteps,
): Promise<Buffer | undefined> {
  const shared = isShared(content, form)
  const texts: string[] = []
  let [length, whole] = [0, 0]
  for (const piece of shared ? sharedPieces(content) : wholePieces(content)) {
    length += piece.text.length
    whole += piece.whole
    if (whole > max) return undefined
    texts.push(piece.text)
    const paused = pause()
    if (paused) await paused
  }
  const frame =
    length > LARGE_TEXT
      ? await compressInThread(await bytesOf(texts, pause))
      : compressText(texts.join(''))
  return shared ? withMark(frame) : frame
}

/**
 * Calls may refer to the same messages and tool lists: nobody may change these in place.
 * @param bytes as they were encoded; none are a trace of which nothing was read
 * @throws Error for bytes that are damaged, or of a form that this release does not know
 */
export function decodeContent(bytes: Uint8Array): TraceContent {
  return readContent(peekContent(bytes))
}

/** As `decodeContent`, in steps: it awaits `pause` between them, and a thread inflates a large content. */
export async function decodeContentInSteps(bytes: Uint8Array, pause: Pause): Promise<TraceContent> {
  if (bytes.length < LARGE_BOX) return decodeContent(bytes)
  const { form, text } = await inflateLarge(bytes)
  try {
    const value = await inSteps(parseInPieces(text), pause)
    return form === 'shared' ? await inSteps(openShared(value), pause) : (value as TraceContent)
  } catch (error) {
    throw damaged(error)
  }
}

/** A content that was inflated and not read, so that its size can be looked at before. */
export interface InflatedContent {
  readonly form: ContentForm
  /** JSON; `contentText` where the form is whole. */
  readonly text: Buffer
}

/** @throws Error as `decodeContent` */
export function inflateContent(bytes: Uint8Array): InflatedContent {
  return inflateWith(inflateText, bytes)
}

/** As `inflateContent`, in memory that may be that of the next content as well. */
export function peekContent(bytes: Uint8Array): InflatedContent {
  return inflateWith(peekText, bytes)
}

function inflateWith(inflate: typeof inflateText, bytes: Uint8Array): InflatedContent {
  const form = formOf(bytes)
  try {
    return { form, text: inflate(frameOf(bytes)) }
  } catch (error) {
    throw damaged(error)
  }
}

/**
 * The texts of contents, as `contentText` would give them, in pieces that are written without parsing. A thread
 * inflates a large one. Gives each with its pieces, some of which are empty, so that whoever takes them may pause.
 * @throws Error as `decodeContent`, also while pieces are taken
 */
export async function* writeContents<T extends { readonly content: Uint8Array }>(
  encoded: readonly T[],
): AsyncGenerator<[T, Generator<Uint8Array>]> {
  for (const each of encoded) {
    const { content } = each
    const inflated =
      content.length < LARGE_BOX ? inflateContent(content) : await inflateLarge(content)
    yield [each, textPieces(inflated)]
  }
}

async function inflateLarge(bytes: Uint8Array): Promise<InflatedContent> {
  const form = formOf(bytes)
  try {
    return { form, text: await inflateInThread(frameOf(bytes)) }
  } catch (error) {
    throw damaged(error)
  }
}

function* textPieces({ form, text }: InflatedContent): Generator<Uint8Array> {
  try {
    if (form === 'whole') yield text
    else yield* openSharedText(text)
  } catch (error) {
    throw damaged(error)
  }
}

/**
 * The shared form of a stored content, checked to say the same text. Undefined where it is stored so, has
 * nothing to share, or says what this release would not write.
 * @param pause as that of `decodeContentInSteps`, which also says what is thrown
 */
export async function shareContent(bytes: Uint8Array, pause: Pause): Promise<Buffer | undefined> {
  const content = await decodeContentInSteps(bytes, pause)
  if (!isShared(content, 'shared') || formOf(bytes) === 'shared') return undefined
  const shared = await encodeContentInSteps(content, { form: 'shared', pause })
  const again = shared && contentText(await decodeContentInSteps(shared, pause))
  return again === peekContent(bytes).text.toString() ? shared : undefined
}

/** @throws Error as `decodeContent` */
export function readContent(inflated: InflatedContent): TraceContent {
  try {
    return contentOf(inflated)
  } catch (error) {
    throw damaged(error)
  }
}

function contentOf({ form, text }: InflatedContent): TraceContent {
  const value: unknown = JSON.parse(text.toString())
  return form === 'shared' ? atOnce(openShared(value)) : (value as TraceContent)
}

function isShared({ llm_calls }: TraceContent, form: ContentForm) {
  return form === 'shared' && llm_calls.length > 1
}

/** What `contentText` gives, a span or a call at a time. */
function* wholePieces({ spans, llm_calls }: TraceContent): Generator<Piece> {
  yield pieceOf('{"spans":[')
  yield* itemPieces(spans)
  yield pieceOf('],"llm_calls":[')
  yield* itemPieces(llm_calls)
  yield pieceOf(']}')
}

function* itemPieces(items: readonly object[]) {
  for (const [index, item] of items.entries()) {
    yield pieceOf(index === 0 ? JSON.stringify(item) : `,${JSON.stringify(item)}`)
  }
}

function pieceOf(text: string): Piece {
  return { text, whole: text.length }
}

async function bytesOf(texts: readonly string[], pause: Pause): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const text of texts) {
    parts.push(Buffer.from(text))
    const paused = pause()
    if (paused) await paused
  }
  return Buffer.concat(parts)
}

function withMark(frame: Buffer) {
  return Buffer.concat([SHARED_MARK, frame])
}

/** @throws Error for a form that this release does not know */
function formOf(bytes: Uint8Array): ContentForm {
  const [first = ZSTD_MAGIC] = bytes
  if (first === ZSTD_MAGIC) return 'whole'
  if (first === SHARED) return 'shared'
  const byte = first.toString(16).padStart(2, '0')
  throw new Error(
    `The content of the trace begins with 0x${byte}: it is damaged, or of a newer release`,
  )
}

/** Without the mark of its form. */
function frameOf(bytes: Uint8Array) {
  if (bytes.length === 0) return NO_CONTENT
  return bytes[0] === SHARED ? bytes.subarray(1) : bytes
}

function damaged(cause: unknown) {
  return new Error('The content of the trace is damaged', { cause })
}

/** What a whole content begins with, as bytes of zstd do. */
export const WHOLE_MARK = Buffer.of(ZSTD_MAGIC)
/** The first byte of a shared one. */
const SHARED = 1
const SHARED_MARK = Buffer.of(SHARED)
const NO_CONTENT = compressText(contentText({ spans: [], llm_calls: [] }))
/** Characters. */
const LARGE_TEXT = 256 << 10
/** Compressed; some hundred KiB of text, about a millisecond. */
const LARGE_BOX = 32 << 10
