import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openNearPairs } from '../../jobs/rules/datasets/near-pairs.ts'
import type { NearPairs } from '../../jobs/rules/datasets/near-pairs.ts'
import type { NearScope } from '../../jobs/rules/datasets/near-scope.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import {
  BANDS,
  countEqualBins,
  NEAR_BINS,
  SIGNATURE_BINS,
} from '../../jobs/rules/datasets/signature.ts'
import { readBand, writeBands } from './near-bands.ts'
import { openSignatureReader } from './signature-file.ts'
import type { SignatureReader } from './signature-file.ts'

/** The rows to compare, by rank: the better one of two comes first. */
export interface RankedRows {
  /** Their numbers, by which their signatures are found. */
  readonly rows: Uint32Array<ArrayBuffer>
  /** Rows of one trace are never near: its calls share their beginning. */
  readonly traces: Uint32Array<ArrayBuffer>
  /** Indexes in `SPLITS`. */
  readonly splits: Uint8Array<ArrayBuffer>
}

export interface NearSearch extends RankedRows {
  /** Has the signatures; gets the files of the bands and `nearPath`. */
  readonly folder: string
  readonly scope: NearScope
}

/**
 * Finds the rows that are near to better ones and writes them as lines of `row,better,equal bins,replaces`
 * into the file `nearPath`. Rows are compared that share a band, each with the best few of those in each
 * split. Where those are left out themselves, others that come after them were passed over: the rows that
 * stay are then compared with these too, again and again until nothing more is found. Memory: 8 bytes
 * a row for a band, 13 for ranks, and 41 at most for what is found.
 * @param onProgress called with the share of the bands that were looked at once, 0 to 1
 */
export function searchNear(
  { folder, scope, ...ranked }: NearSearch,
  onProgress: (part: number) => void,
) {
  const pairs = openNearPairs(ranked.rows.length)
  const signatures = openSignatureReader(folder)
  try {
    const count = writeBands(folder, signatures, ranksOf(ranked.rows))
    const entries = new BigUint64Array(count)
    let isLimited = false
    for (let round = 1; round <= MOST_ROUNDS; round++) {
      const compare = openComparison({ ...ranked, scope, pairs, signatures, isFirst: round === 1 })
      for (let band = 0; band < BANDS; band++) {
        readBand(folder, band, entries)
        for (const ranks of bucketsOf(entries)) if (compare(ranks)) isLimited = true
        if (round === 1) onProgress((band + 1) / BANDS)
      }
      const isChanged = pairs.settle(round === MOST_ROUNDS)
      if (!isChanged || !isLimited) break
    }
  } finally {
    signatures.close()
  }
  writePairs(folder, pairs, ranked.rows)
}

/** The file of what was found, within the scratch folder of a build. */
export function nearPath(folder: string) {
  return join(folder, 'near.csv')
}

function ranksOf(rows: Uint32Array) {
  const count = rows.reduce((most, row) => Math.max(most, row + 1), 0)
  const rankOf = new Uint32Array(count)
  for (const [rank, row] of rows.entries()) rankOf[row] = rank + 1
  return rankOf
}

/** The ranks of the rows with one hash, in ascending order, wherever there are several. */
function* bucketsOf(entries: BigUint64Array) {
  const words = new Uint32Array(entries.buffer, entries.byteOffset, 2 * entries.length)
  const hashOf = (i: number) => words[2 * i + 1]
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const hash = hashOf(from)
    while (to < entries.length && hashOf(to) === hash) to++
    if (to - from > 1) yield ranksIn(words, from, to)
  }
}

function* ranksIn(words: Uint32Array, from: number, to: number) {
  for (let i = from; i < to; i++) yield words[2 * i] as number
}

/** Returns a function that compares the rows of one bucket and tells whether it may have passed over some. */
function openComparison(comparing: Comparing) {
  const { rows, traces, splits, scope, pairs, signatures, isFirst } = comparing
  const own = new Int32Array(SIGNATURE_BINS)
  function mayBeNear(rank: number, leader: number) {
    if (scope === 'other_split' && splits[rank] === splits[leader]) return false
    return traces[rank] !== traces[leader] && !pairs.has(rank, leader)
  }
  return (ranks: Iterable<number>) => {
    const leaders: number[] = []
    // Those that come to lead as others before them are left out: no row was compared with them.
    const late: number[] = []
    const seen = SPLITS.map(() => 0)
    let isLimited = false
    const read = new Map<number, Int32Array>()
    const signatureOf = (leader: number) =>
      read.getOrInsertComputed(leader, () => {
        const signature = new Int32Array(SIGNATURE_BINS)
        signatures.read(rows[leader] as number, signature)
        return signature
      })
    for (const rank of ranks) {
      const split = splits[rank] as number
      const isLate = (seen[split] as number) >= LEADERS_A_SPLIT
      seen[split] = (seen[split] as number) + 1
      if (pairs.isGone(rank)) continue
      const unknown = isFirst || pairs.wasFull(rank) ? leaders : late
      const others = pairs.isFull(rank) ? [] : unknown.filter((leader) => mayBeNear(rank, leader))
      if (others.length > 0) signatures.read(rows[rank] as number, own)
      for (const leader of others) {
        if (pairs.isFull(rank)) break
        const equal = countEqualBins(own, signatureOf(leader))
        if (equal >= NEAR_BINS) pairs.add(rank, leader, equal)
      }
      if (isLate || pairs.wasFull(rank)) isLimited = true
      const ofSplit = leaders.filter((leader) => splits[leader] === split).length
      if (ofSplit === LEADERS_A_SPLIT) continue
      leaders.push(rank)
      if (isLate) late.push(rank)
    }
    return isLimited
  }
}

function writePairs(folder: string, pairs: NearPairs, rows: Uint32Array) {
  const file = openSync(nearPath(folder), 'w')
  let lines: string[] = []
  function flush() {
    writeFileSync(file, lines.join(''))
    lines = []
  }
  try {
    pairs.tellAll(({ rank, better, equal, replaces }) => {
      lines.push(`${rows[rank]},${rows[better]},${equal},${replaces}\n`)
      if (lines.length === WAITING_LINES) flush()
    })
    flush()
  } finally {
    closeSync(file)
  }
}

/** With how many rows of each split of its bucket a row is compared. */
const LEADERS_A_SPLIT = 8
/** How often rows are compared at most; each time but the first is for what the one before left out. */
const MOST_ROUNDS = 8
const WAITING_LINES = 4096

interface Comparing extends RankedRows {
  readonly scope: NearScope
  readonly pairs: NearPairs
  readonly signatures: SignatureReader
  readonly isFirst: boolean
}
