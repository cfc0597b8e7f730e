import { promisify } from 'node:util'
import {
  constants,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'

/** As one zstd frame, which begins with `ZSTD_MAGIC`. */
export function compressText(text: string): Buffer {
  return zstdCompressSync(text, optionsFor(text))
}

/** As `compressText`, in a thread. */
export function compressInThread(text: Buffer): Promise<Buffer> {
  return compress(text, optionsFor(text))
}

/** @throws Error for bytes that are no zstd frame, or one that was cut or damaged */
export function inflateText(frame: Uint8Array): Buffer {
  return zstdDecompressSync(frame)
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
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
