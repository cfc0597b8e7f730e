import t from 'tap'
import {
  BANDS,
  countEqualBins,
  hashBand,
  isSigned,
  NEAR_BINS,
  openSigner,
  SIGNATURE_BINS,
} from '../../../../jobs/rules/datasets/signature.ts'
import { jaccard, openTexts } from '../../../../ops/bench/near-texts.ts'
import fc from '../../../support/property.ts'

const sign = openSigner()

t.test('equal bins estimate the Jaccard similarity of the shingles', async (t) => {
  const { random, pair } = openTexts(1)
  for (const words of [40, 150, 600]) {
    const errors = Array.from({ length: 400 }, () => {
      const planted = pair(words, 1 + random.below(words / 40))
      const [one, other] = [sign([planted.one]), sign([planted.other])]
      const equal = one.filter((value, bin) => value === other[bin]).length
      return equal / SIGNATURE_BINS - jaccard(planted)
    })
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
    const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length)
    // The mean of 400 is within three times its own deviation.
    t.ok(Math.abs(mean) < (3 * deviation) / 20, `${words} words: mean ${mean}`)
    t.ok(deviation < 0.06, `${words} words: deviation ${deviation}`)
  }
})

t.test('texts with nothing in common have next to no equal bins, however short', async (t) => {
  const { text, random } = openTexts(2)
  for (let n = 0; n < 300; n++) {
    const [one, other] = [text(5 + random.below(60)), `x ${text(5 + random.below(60))}`]
    const [a, b] = [sign([one]), sign([other])]
    if (jaccard({ one, other }) === 0) t.equal(a.filter((value, bin) => value === b[bin]).length, 0)
  }
})

t.test('counts equal bins exactly where two are near, else less than that', async (t) => {
  fc.assert(
    fc.property(fc.nat(SIGNATURE_BINS), (different) => {
      const one = Int32Array.from({ length: SIGNATURE_BINS }, (_, bin) => bin)
      const other = one.map((value, bin) => (bin < different ? -1 - value : value))
      const equal = SIGNATURE_BINS - different
      const counted = countEqualBins(one, other)
      if (equal >= NEAR_BINS) t.equal(counted, equal)
      else t.ok(counted < NEAR_BINS)
    }),
  )
})

t.test('nothing but words counts, in whatever case and whichever text they are', async (t) => {
  const words = ['Ärger', 'über', '3', 'ΛΟΓΟΙ', 'ждать', '水', '𝐀𝐁', '𐐀x', 'end']
  const plain = sign([words.join(' ')])
  t.same(sign([`  ${words.join(' -- \n')}!`]), plain)
  t.same(sign([words.join(' ').toLowerCase()]), plain)
  t.same(sign(words), plain)
  t.same(sign(['', ...words.slice(0, 3), '...', ...words.slice(3), '😀']), plain)
  t.same(sign([words.join('😀')]), plain, 'a smiley is no letter')
  t.notSame(sign([words.toReversed().join(' ')]), plain)
  t.notSame(sign([words.join('')]), plain)
})

t.test('in scripts without blanks every letter is a word', async (t) => {
  const clauses = {
    Han: '他在北京大学学习了四年中文',
    'Han of two units': '𠀀𠀁𠀂𠀃𠀄𠀅',
    Kana: 'ラーメンをたべました',
    Thai: 'ฉนรกประเทศไทยมาก',
    Lao: 'ຂອຍຮກປະເທດລາວ',
    Khmer: 'ខញសរឡញបរទសកមពជា',
    Myanmar: 'မနမာနငငကချစတယ',
  }
  for (const [script, clause] of Object.entries(clauses)) {
    t.same(sign([clause]), sign([Array.from(clause).join(' ')]), script)
  }
  const mixed = sign(['我 有 100 个 GPU 𠀀 x 吗'])
  t.same(sign(['我有100个GPU𠀀x吗']), mixed, 'runs between them stay words')
  t.notSame(sign(['我有1 00个GPU𠀀x吗']), mixed)
  t.same(sign(['한국어는 띄어쓰기가 있다 a b']), sign(['한국어는', '띄어쓰기가', '있다', 'a b']))
  t.notSame(sign(['한국어는 띄어쓰기가 있다 a b']), sign(['한국 어는 띄어쓰기가 있다 a b']))
})

t.test('texts of a script without blanks that differ in one letter are near', async (t) => {
  const { random } = openTexts(4)
  for (let n = 0; n < 200; n++) {
    const letters = Array.from({ length: 200 }, () =>
      String.fromCharCode(0x4e00 + random.below(3000)),
    )
    const one = letters.join('').replace(/.{15}/g, '$&，')
    const other = letters.with(random.below(letters.length), '错').join('')
    t.ok(jaccard({ one, other }) > 0.9)
    t.ok(countEqualBins(sign([one]), sign([other])) >= NEAR_BINS)
  }
})

t.test(
  'a text of less than five words is one shingle, one without any is not signed',
  async (t) => {
    for (const text of ['', ' -- ', '😀', '\ud83d', '\ude00']) t.notOk(isSigned(sign([text])), text)
    t.notOk(isSigned(sign([])))
    t.notOk(isSigned(sign(['a b c', 'd'], { least: 5 })))
    t.ok(isSigned(sign(['a b c', 'd e'], { least: 5 })))
    const texts = ['a', 'b', 'a b', 'b a', 'a a', 'a b c', 'a b c d', 'a b c d e']
    const signed = texts.map((text) => sign([text]))
    for (const [i, one] of signed.entries()) {
      t.ok(isSigned(one))
      t.equal(new Set(one).size, 1)
      for (const other of signed.slice(i + 1)) t.not(one[0], other[0])
    }
  },
)

t.test('texts under other salts have nothing in common', async (t) => {
  const text = openTexts(3).text(100)
  const [one, other] = [sign([text]), sign([text], { salt: 7 })]
  t.equal(one.filter((value, bin) => value === other[bin]).length, 0)
})

t.test('bands are equal where their bins are', async (t) => {
  fc.assert(
    fc.property(fc.nat(SIGNATURE_BINS - 1), (bin) => {
      const one = sign(['the quick brown fox jumps over the lazy dog again and again'])
      const other = one.map((value, i) => (i === bin ? value ^ 1 : value))
      const differing = Array.from({ length: BANDS }, (_, band) => band).filter(
        (band) => hashBand(one, band) !== hashBand(other, band),
      )
      t.same(differing, [Math.floor(bin / (SIGNATURE_BINS / BANDS))])
    }),
  )
})
