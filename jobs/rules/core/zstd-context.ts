import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { ZstdOptions } from 'node:zlib'
import type { Transform } from 'node:stream'

/**
 * Compresses short texts in one native context that is kept: making a context takes longer than compressing a
 * few kB. The frames equal those of `zstdCompressSync`. The function returns undefined for texts of more than
 * 65,536 characters, after an error, and where Node lacks the internals that `openContext` needs.
 */
export function openCompressor(
  options: ZstdOptions,
  stream: object = createZstdCompress(options),
): (text: string) => Buffer | undefined {
  const context = openContext(stream)
  if (!context) return () => undefined
  const input = Buffer.allocUnsafeSlow(MAX_BYTES)
  const output = Buffer.allocUnsafeSlow(LONGEST_FRAME)
  return (text) => {
    if (text.length > MAX_CHARACTERS) return undefined
    const written = context.run(input.subarray(0, input.write(text)), output)
    return written === undefined ? undefined : Buffer.from(output.subarray(0, written))
  }
}

/**
 * Inflates frames in one native context into one buffer, which are kept: as garbage, what is inflated would make V8
 * mark the whole heap again and again. The function is told how many bytes a frame holds, and the next call
 * overwrites what it returns. It returns undefined for more than 1 MiB, for a frame that is damaged or holds another
 * number, and where Node lacks the internals that `openContext` needs.
 */
export function openInflater(
  open: () => object = createZstdDecompress,
): (frame: Uint8Array, bytes: number) => Buffer | undefined {
  let context = openContext(open())
  if (!context) return () => undefined
  const output = Buffer.allocUnsafeSlow(MOST_INFLATED)
  return (frame, bytes) => {
    if (bytes > output.length) return undefined
    if (context?.run(frame, output) === bytes) return output.subarray(0, bytes)
    // With the context goes what a damaged frame has left in it.
    context = openContext(open())
    return undefined
  }
}

/**
 * The native context of a stream; undefined where the streams of Node are built differently. Node has no public way
 * to keep a context.
 */
function openContext(stream: object) {
  if (!isOpenInside(stream)) return undefined
  const { _handle: handle, _writeState: left } = stream
  // An error destroys the stream; nobody else would hear of it.
  stream.on('error', () => undefined)
  return {
    /** Returns how many bytes came out. Undefined after an error, and where not all of the input went in. */
    run(input: Uint8Array, output: Buffer): number | undefined {
      if (stream.destroyed) return undefined
      handle.writeSync(constants.ZSTD_e_end, input, 0, input.length, output, 0, output.length)
      return stream.destroyed || left[1] > 0 ? undefined : output.length - left[0]
    },
  }
}

function isOpenInside(stream: Partial<InnerStream>): stream is InnerStream {
  const { _handle: handle, _writeState: left } = stream
  return typeof handle?.writeSync === 'function' && left instanceof Uint32Array
}

const MAX_CHARACTERS = 64 << 10
/** In UTF-8 a character takes at most three bytes. */
const MAX_BYTES = 3 * MAX_CHARACTERS
/** ZSTD_COMPRESSBOUND of so many bytes, so that one call always writes a whole frame. */
const LONGEST_FRAME = MAX_BYTES + (MAX_BYTES >> 8)
const MOST_INFLATED = 1 << 20

/** What a stream of Node has inside. */
interface InnerStream extends Transform {
  readonly _handle: {
    writeSync(
      flush: number,
      input: Uint8Array,
      inputFrom: number,
      inputBytes: number,
      output: Uint8Array,
      outputFrom: number,
      outputBytes: number,
    ): void
  }
  /** After a call: the bytes of the output that are left, and those of the input. */
  readonly _writeState: Uint32Array & { readonly 0: number; readonly 1: number }
}
