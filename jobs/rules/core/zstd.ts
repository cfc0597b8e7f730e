import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'
import { openCompressor } from './zstd-context.ts'

/** As one zstd frame, which begins with `ZSTD_MAGIC`. */
export function compressText(text: string): Buffer {
  return compressShort(text) ?? zstdCompressSync(text, optionsFor(text))
}

/** As `compressText`, in a thread. */
export function compressInThread(text: Buffer): Promise<Buffer> {
  return compress(text, optionsFor(text))
}

/** @throws Error for bytes that are no zstd frame, or one that was cut or damaged */
export function inflateText(frame: Uint8Array): Buffer {
  return zstdDecompressSync(frame)
}

/**
 * The texts of frames, as `inflateText` gives them. Short ones are inflated together: a call of its own takes
 * ten times as long as a short text does.
 */
export function* inflateTexts(frames: Iterable<Uint8Array>): Generator<Buffer> {
  let group: SizedFrame[] = []
  let bytes = 0
  for (const frame of frames) {
    const size = toldSize(frame) ?? Infinity
    if (group.length > 0 && bytes + size > TOGETHER_BYTES) {
      yield* inflateTogether(group, bytes)
      ;[group, bytes] = [[], 0]
    }
    group.push({ frame, size })
    bytes += size
  }
  yield* inflateTogether(group, bytes)
}

/** @param bytes of all their texts */
function* inflateTogether(group: readonly SizedFrame[], bytes: number): Generator<Buffer> {
  const frames = group.map(({ frame }) => frame)
  const all = frames.length > 1 ? inflateUpTo(Buffer.concat(frames), bytes) : undefined
  // One by one where a frame is damaged or tells another size, so that the error is of that frame.
  if (all?.length !== bytes) {
    for (const frame of frames) yield inflateText(frame)
    return
  }
  let at = 0
  for (const { size } of group) yield all.subarray(at, (at += size))
}

function inflateUpTo(frames: Uint8Array, bytes: number) {
  try {
    return zstdDecompressSync(frames, { maxOutputLength: bytes, chunkSize: Math.max(64, bytes) })
  } catch {
    return undefined
  }
}

/**
 * The size of a frame's text, from its header (RFC 8878, 3.1.1.1). Undefined where it is not told, and of
 * 4 GiB and more.
 */
function toldSize(frame: Uint8Array): number | undefined {
  const [, , , , descriptor = 0] = frame
  const isWhole = (descriptor & 0x20) !== 0
  const at = 5 + (isWhole ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0)
  const length = [isWhole ? 1 : 0, 2, 4, 0][descriptor >> 6] ?? 0
  if (length === 0 || frame.length < at + length) return undefined
  const told = Buffer.from(frame.buffer, frame.byteOffset, frame.length).readUIntLE(at, length)
  return length === 2 ? told + 256 : told
}

/** As `inflateText`, in a thread. */
export function inflateInThread(frame: Uint8Array): Promise<Buffer> {
  return decompress(frame)
}

function optionsFor({ length }: { readonly length: number }) {
  // Room for what usually comes out; the default of 16 KiB is more than most texts need.
  const chunkSize = Math.min(1 << 20, Math.max(4 << 10, length >> 2))
  return { ...FAST, chunkSize }
}

/** Of the texts that are inflated together. */
const TOGETHER_BYTES = 1 << 20
/** The first byte of every frame. */
export const ZSTD_MAGIC = 0x28
/** Level 1: about a quarter of the size at several hundred MB/s. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compressShort = openCompressor(FAST)
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

interface SizedFrame {
  readonly frame: Uint8Array
  /** Of its text, in bytes; infinite where it is not told, which then is the only one of its group. */
  readonly size: number
}
