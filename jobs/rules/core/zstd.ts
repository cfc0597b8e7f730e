import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'
import { openCompressor, openInflater } from './zstd-context.ts'

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
  const kept = inflateShort(frame)
  return kept ? Buffer.from(kept) : zstdDecompressSync(frame)
}

/** As `inflateText`, in memory that may be that of the next text as well. */
export function peekText(frame: Uint8Array): Buffer {
  return inflateShort(frame) ?? zstdDecompressSync(frame)
}

function inflateShort(frame: Uint8Array) {
  return inflate(frame, toldSize(frame) ?? Infinity)
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

/** The first byte of every frame. */
export const ZSTD_MAGIC = 0x28
/** Level 1: about a quarter of the size at several hundred MB/s. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compressShort = openCompressor(FAST)
const inflate = openInflater()
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
