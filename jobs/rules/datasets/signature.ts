import { letterTable, SURROGATE, wideLetter } from './letters.ts'

/**
 * Signatures tell how alike two texts are without the texts: MinHash by one permutation (Li, Owen and Zhang
 * 2012), empty bins filled from fixed other ones (Shrivastava 2017, "Optimal Densification"). The share of
 * equal bins estimates the Jaccard similarity of the two sets of shingles; where no bin was empty, with a
 * standard deviation of at most .044.
 */

/** A shingle is so many words in a row. */
export const SHINGLE_WORDS = 5
export const SIGNATURE_BINS = 128
export const SIGNATURE_BYTES = SIGNATURE_BINS * Int32Array.BYTES_PER_ELEMENT
/** Rows are near to each other from so many equal bins on: similarity .80. */
export const NEAR_BINS = 103
/** Rows are compared where they share a band. Of two with similarity .9 one in 10,000 shares none, of .8 one in 19. */
export const BANDS = 16

/**
 * Returns a function that signs texts, which it takes for one text. Words are runs of letters and digits, in
 * lower case; in scripts without blanks every letter is one. A text of less than five words is one shingle.
 * @param salt texts under different salts have nothing in common
 * @param least how many words there must be, 1 at least
 * @returns the signature; one of a text of fewer words is not `isSigned`
 */
export function openSigner() {
  const letters = letterTable()
  const last = new Int32Array(SHINGLE_WORDS - 1)
  const full = new Int32Array(SIGNATURE_BINS)
  return (texts: readonly string[], { salt = 0, least = 1 } = {}): Int32Array => {
    const bins = new Int32Array(SIGNATURE_BINS).fill(EMPTY)
    const signing = { letters, last: last.fill(0), salt, bins }
    let words = 0
    for (const text of texts) words += addText(text, words, signing)
    if (words < least) return bins.fill(EMPTY)
    // Fewer words than a shingle has are all among the last ones.
    if (words < SHINGLE_WORDS) addShingle(last.reduce(mergeWord, 0), signing)
    full.set(bins)
    fillEmpty(bins, full)
    return bins
  }
}

/** Whether it is the signature of a text that had words enough. */
export function isSigned(signature: Int32Array) {
  return signature[0] !== EMPTY
}

/** How many bins of two signatures are equal; may be too few where the rows are not near. */
export function countEqualBins(one: Int32Array, other: Int32Array) {
  let different = 0
  for (let bin = 0; bin < SIGNATURE_BINS; bin++) {
    if (one[bin] !== other[bin] && ++different > SIGNATURE_BINS - NEAR_BINS) break
  }
  return SIGNATURE_BINS - different
}

/** A hash, unsigned 32 bits, of the bins of one band. */
export function hashBand(signature: Int32Array, band: number) {
  const first = band * BAND_BINS
  let hash = band
  for (let bin = first; bin < first + BAND_BINS; bin++) {
    hash = mix(Math.imul(hash, FACTOR) + (signature[bin] as number))
  }
  return hash >>> 0
}

/** Adds the shingles that end in a text, of which there were `before` words. Returns how many it has. */
function addText(text: string, before: number, signing: Signing) {
  const { letters, last } = signing
  const { length } = text
  let words = before
  let word = NO_WORD
  let [first, second, third, fourth] = last as unknown as LastWords
  // Every text ends as a word does.
  for (let i = 0; i <= length; i++) {
    let letter = i < length ? (letters[text.charCodeAt(i)] as number) : 0
    if (letter === SURROGATE && (letter = wideLetter(text, i)) !== 0) i++
    if (letter > 0) {
      word = Math.imul(word ^ letter, WORD_FACTOR)
      continue
    }
    // A letter that is a word of its own ends the one before it, then itself.
    let alone = letter === 0 ? NO_WORD : Math.imul(NO_WORD ^ letter, WORD_FACTOR)
    if (word === NO_WORD) {
      word = alone
      alone = NO_WORD
    }
    while (word !== NO_WORD) {
      if (++words >= SHINGLE_WORDS) {
        const merged =
          Math.imul(first, FACTOR_4) +
          Math.imul(second, FACTOR_3) +
          Math.imul(third, FACTOR_2) +
          Math.imul(fourth, FACTOR)
        addShingle(merged + word, signing)
      }
      first = second
      second = third
      third = fourth
      fourth = word
      word = alone
      alone = NO_WORD
    }
  }
  last.set([first, second, third, fourth])
  return words - before
}

function mergeWord(merged: number, word: number) {
  return Math.imul(merged, FACTOR) + word
}

function addShingle(shingle: number, { salt, bins }: Signing) {
  const hash = mix(shingle ^ salt)
  const bin = hash & (SIGNATURE_BINS - 1)
  if (hash < (bins[bin] as number)) bins[bin] = hash
}

/** Each empty bin takes the value of the first full one in its own fixed order of the bins. */
function fillEmpty(bins: Int32Array, full: Int32Array) {
  for (let bin = 0; bin < SIGNATURE_BINS; bin++) {
    if (full[bin] !== EMPTY) continue
    let probe = bin * SIGNATURE_BINS
    const end = probe + SIGNATURE_BINS
    while (probe < end && full[PROBES[probe] as number] === EMPTY) probe++
    if (probe < end) bins[bin] = full[PROBES[probe] as number] as number
  }
}

/** The finalizer of MurmurHash3 (Appleby, public domain), which spreads every bit over all 32. */
function mix(value: number) {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/** For each bin an order of all bins. */
function probeTable() {
  const table = new Uint8Array(SIGNATURE_BINS ** 2)
  for (let bin = 0; bin < SIGNATURE_BINS; bin++) {
    const order = table.subarray(bin * SIGNATURE_BINS, (bin + 1) * SIGNATURE_BINS)
    for (let last = 0; last < SIGNATURE_BINS; last++) {
      const at = (mix(bin * SIGNATURE_BINS + last + 1) >>> 0) % (last + 1)
      order[last] = order[at] as number
      order[at] = last
    }
  }
  return table
}

const BAND_BINS = SIGNATURE_BINS / BANDS
/** Greater than any other value, so that it is never the least of a bin. */
const EMPTY = 0x7fff_ffff
/** Offset and factor of FNV-1a, by which letters make a word. */
const NO_WORD = 0x811c_9dc5 | 0
const WORD_FACTOR = 0x0100_0193
/** Words make a shingle by the powers of an odd factor, so that their order counts. */
const FACTOR = 0x9e37_79b1 | 0
const FACTOR_2 = Math.imul(FACTOR, FACTOR)
const FACTOR_3 = Math.imul(FACTOR_2, FACTOR)
const FACTOR_4 = Math.imul(FACTOR_3, FACTOR)
const PROBES = probeTable()

interface Signing {
  readonly letters: Int32Array
  /** The words before, 0 where there were fewer. */
  readonly last: Int32Array
  readonly salt: number
  readonly bins: Int32Array
}
type LastWords = readonly [number, number, number, number]
