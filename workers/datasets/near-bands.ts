import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BANDS, hashBand, isSigned, SIGNATURE_BINS } from '../../jobs/rules/datasets/signature.ts'
import { readExactly } from './read-exactly.ts'
import type { SignatureReader } from './signature-file.ts'

/**
 * Writes, for each band, a file with the hash of every row's band and the row's rank, 8 bytes together. All
 * bands at once would take 128 bytes a row, so that they are in files.
 * @param rankOf the rank of each row, counted from 1; 0 for a row that is gone
 * @returns how many rows each file has: those with a rank and a signature
 */
export function writeBands(folder: string, signatures: SignatureReader, rankOf: Uint32Array) {
  const files = Array.from({ length: BANDS }, (_, band) => openBandFile(bandPath(folder, band)))
  const block = new Int32Array(BLOCK_ROWS * SIGNATURE_BINS)
  let rowCount = 0
  try {
    for (let first = 0; first < rankOf.length; first += BLOCK_ROWS) {
      const ranks = rankOf.subarray(first, first + BLOCK_ROWS)
      signatures.read(first, block, ranks.length)
      for (const [i, rank] of ranks.entries()) {
        const signature = block.subarray(i * SIGNATURE_BINS, (i + 1) * SIGNATURE_BINS)
        if (rank === 0 || !isSigned(signature)) continue
        for (const [band, file] of files.entries()) file.add(hashBand(signature, band), rank - 1)
        rowCount++
      }
    }
    for (const file of files) file.flush()
    return rowCount
  } finally {
    for (const file of files) file.close()
  }
}

/** Fills `into` with the rows of a band, sorted by hash, then rank. */
export function readBand(folder: string, band: number, into: BigUint64Array) {
  const file = openSync(bandPath(folder, band), 'r')
  try {
    readExactly(file, into, { from: 0 })
  } finally {
    closeSync(file)
  }
  into.sort()
}

function openBandFile(path: string) {
  const file = openSync(path, 'w')
  const waiting = new Uint32Array(2 * WAITING_ROWS)
  let filled = 0
  function flush() {
    writeFileSync(file, waiting.subarray(0, filled))
    filled = 0
  }
  return {
    flush,
    // The hash is the upper half of the 64 bits, in the order of bytes of every machine this runs on.
    add(hash: number, rank: number) {
      waiting[filled++] = rank
      waiting[filled++] = hash
      if (filled === waiting.length) flush()
    },
    close: () => closeSync(file),
  }
}

function bandPath(folder: string, band: number) {
  return join(folder, `band-${String(band).padStart(2, '0')}`)
}

const BLOCK_ROWS = 2048
const WAITING_ROWS = 4096
