import { constants, createZstdCompress } from 'node:zlib'
import type { ZstdOptions } from 'node:zlib'
import type { Transform } from 'node:stream'

/**
 * Compresses short texts in one native context that is kept: making a context takes longer than compressing a
 * few kB. The frames equal those of `zstdCompressSync`. The function returns undefined for texts of more than
 * 65,536 characters, after an error, and where the streams of Node lack the internals used here: Node has no
 * public way to keep a context.
 */
export function openCompressor(
  options: ZstdOptions,
  stream: object = createZstdCompress(options),
): (text: string) => Buffer | undefined {
  if (!isOpenInside(stream)) return () => undefined
  const { _handle: handle, _writeState: left } = stream
  // An error destroys the stream; nobody else would hear of it.
  stream.on('error', () => undefined)
  const input = Buffer.allocUnsafeSlow(MAX_BYTES)
  const output = Buffer.allocUnsafeSlow(LONGEST_FRAME)
  return (text) => {
    if (text.length > MAX_CHARACTERS || stream.destroyed) return undefined
    const length = input.write(text)
    handle.writeSync(constants.ZSTD_e_end, input, 0, length, output, 0, output.length)
    if (stream.destroyed) return undefined
    return Buffer.from(output.subarray(0, output.length - left[0]))
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
  readonly _writeState: Uint32Array & { readonly 0: number }
}
