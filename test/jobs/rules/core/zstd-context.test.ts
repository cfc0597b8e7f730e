import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import t from 'tap'
import { openCompressor } from '../../../../jobs/rules/core/zstd-context.ts'

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

/** Characters that do not compress. */
function noise(length: number, from = 0x21) {
  let state = 1
  const next = () => (state = (state * 48271) % 2147483647)
  const characters = Array.from({ length }, () => String.fromCharCode(from + (next() % 20_000)))
  return characters.join('')
}
