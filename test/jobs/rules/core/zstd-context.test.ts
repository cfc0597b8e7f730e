import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import t from 'tap'
import { openCompressor, openInflater } from '../../../../jobs/rules/core/zstd-context.ts'

const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compress = openCompressor(OPTIONS)

t.test('each text is the frame that a context of its own would make of it', async (t) => {
  const texts = ['', 'a', 'short'.repeat(700), 'é€😀'.repeat(9000), noise(60_000), '{"a":[1,2]}']
  for (const text of [...texts, ...texts.toReversed()]) {
    t.ok(compress(text)?.equals(zstdCompressSync(text, OPTIONS)), `${text.length} characters`)
  }
})

t.test('the longest text of the longest characters is whole in one call', async (t) => {
  const text = noise(65_536, 0x4e00)
  t.equal(zstdDecompressSync(compress(text) as Buffer).toString(), text)
  t.equal(compress(`${text}a`), undefined, 'a longer one is left to others')
})

t.test('a text that is cut inside a character is stored as text is elsewhere', async (t) => {
  const text = `a${'😀'.charAt(0)}b`
  t.same(zstdDecompressSync(compress(text) as Buffer), Buffer.from(text))
})

t.test('a frame stays as it is when the next text is compressed', async (t) => {
  const [one, other] = [compress('one'.repeat(3000)), compress('other'.repeat(3000))]
  t.equal(zstdDecompressSync(one as Buffer).toString(), 'one'.repeat(3000))
  t.equal(zstdDecompressSync(other as Buffer).toString(), 'other'.repeat(3000))
})

t.test('nothing is compressed after an error of the context', async (t) => {
  const stream = createZstdCompress(OPTIONS)
  const compressBroken = openCompressor(OPTIONS, stream)
  t.ok(compressBroken('text'))
  stream.destroy(new Error('No memory'))
  t.equal(compressBroken('text'), undefined)
})

t.test('nothing is compressed in a stream that is built differently', async (t) => {
  t.equal(openCompressor(OPTIONS, {})('text'), undefined)
})

t.test('frames give the texts that they hold', async (t) => {
  const inflate = openInflater()
  const texts = ['', 'a', 'é€😀'.repeat(9000), noise(60_000), 'x'.repeat(1 << 20)]
  for (const text of [...texts, ...texts.toReversed()]) {
    const bytes = Buffer.byteLength(text)
    t.ok(inflate(zstdCompressSync(text), bytes)?.toString() === text, `${text.length} characters`)
  }
  const long = 'x'.repeat((1 << 20) + 1)
  t.equal(inflate(zstdCompressSync(long), long.length), undefined, 'a longer one is left to others')
})

t.test('frames that are damaged give nothing, and those behind them what they hold', async (t) => {
  const inflate = openInflater()
  const text = noise(5000)
  const frame = zstdCompressSync(text)
  const bytes = Buffer.byteLength(text)
  const damaged = Buffer.from(frame)
  // The header of its first block, which no block can have.
  damaged.fill(0xff, 7, 10)
  for (const [bad, told] of [
    [damaged, bytes],
    [frame.subarray(0, -100), bytes],
    [frame.subarray(0, 3), bytes],
    [Buffer.from('no frame'), bytes],
    [Buffer.concat([frame, frame]), bytes],
    [frame, bytes - 1],
    [frame, bytes + 1],
  ] as const) {
    t.equal(inflate(bad, told), undefined)
    t.ok(inflate(frame, bytes)?.toString() === text)
  }
})

t.test('nothing is inflated in a stream that is built differently', async (t) => {
  t.equal(openInflater(() => ({}))(zstdCompressSync('text'), 4), undefined)
  const streams = [createZstdDecompress(), {}]
  const inflate = openInflater(() => streams.shift() ?? {})
  t.equal(inflate(zstdCompressSync('text'), 4)?.toString(), 'text')
  t.equal(inflate(Buffer.from('no frame'), 4), undefined)
  t.equal(inflate(zstdCompressSync('text'), 4), undefined, 'nor after one that is not')
})

/** Characters that do not compress. */
function noise(length: number, from = 0x21) {
  let state = 1
  const next = () => (state = (state * 48271) % 2147483647)
  const characters = Array.from({ length }, () => String.fromCharCode(from + (next() % 20_000)))
  return characters.join('')
}
