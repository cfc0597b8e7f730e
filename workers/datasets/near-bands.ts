import { closeSync, openSync, readSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BANDS,
  hashBand,
  isSigned,
  SIGNATURE_BINS,
  SIGNATURE_BYTES,
} from '../../jobs/rules/datasets/signature.ts'
import { signaturePath } from './signature-file.ts'

/** Runs in `near-thread.ts`: it may hold up its event loop. */

/** Reads signatures by the number of their row. */
export interface SignatureReader {
  read(row: number, into: Int32Array): void
  close(): void
}

export function openSignatures(folder: string): SignatureReader {
  const file = openSync(signaturePath(folder), 'r')
  return {
    read: (row, into) => readExactly(file, into, SIGNATURE_BYTES, row * SIGNATURE_BYTES),
    close: () => closeSync(file),
  }
}

/**
 * Writes, for each band, a file with the hash of every row's band and the row's rank, 8 bytes together.
 * Files hold them because all bands at once would take 128 bytes a row.
 * @param rankOf the rank of each row, counted from 1; 0 for a row that is gone
 */
export function writeBands(folder: string, rankOf: Uint32Array) {
  const files = Array.from({ length: BANDS }, (_, band) => openBandFile(bandPath(folder, band)))
  const source = openSync(signaturePath(folder), 'r')
  const block = new Int32Array(BLOCK_ROWS * SIGNATURE_BINS)
  try {
    for (let first = 0; first < rankOf.length; first += BLOCK_ROWS) {
      const rows = Math.min(BLOCK_ROWS, rankOf.length - first)
      readExactly(source, block, rows * SIGNATURE_BYTES, first * SIGNATURE_BYTES)
      for (let i = 0; i < rows; i++) {
        const rank = rankOf[first + i] as number
        const signature = block.subarray(i * SIGNATURE_BINS, (i + 1) * SIGNATURE_BINS)
        if (rank === 0 || !isSigned(signature)) continue
        for (const [band, file] of files.entries()) file.add(hashBand(signature, band), rank - 1)
      }
    }
    return files.map((file) => file.finish())
  } finally {
    closeSync(source)
    for (const file of files) file.close()
  }
}

/** Fills `into` with the rows of a band, sorted by hash, then rank. */
export function readBand(folder: string, band: number, into: BigUint64Array) {
  const file = openSync(bandPath(folder, band), 'r')
  try {
    readExactly(file, into, into.byteLength, 0)
  } finally {
    closeSync(file)
  }
  into.sort()
}

function readExactly(file: number, into: NodeJS.ArrayBufferView, bytes: number, from: number) {
  for (let at = 0; at < bytes;) {
    const count = readSync(file, into, at, Math.min(bytes - at, READ_BYTES), from + at)
    if (count === 0) throw new Error(`The file ends ${bytes - at} bytes too early`)
    at += count
  }
}

function openBandFile(path: string) {
  const file = openSync(path, 'w')
  const waiting = new Uint32Array(2 * WAITING_ROWS)
  let filled = 0
  let rowCount = 0
  function flush() {
    writeFileSync(file, waiting.subarray(0, filled))
    filled = 0
  }
  return {
    // The hash in the upper half of the 64 bits, in the order of bytes of every machine this runs on.
    add(hash: number, rank: number) {
      waiting[filled++] = rank
      waiting[filled++] = hash
      rowCount++
      if (filled === waiting.length) flush()
    },
    /** Returns how many rows it has. */
    finish() {
      flush()
      return rowCount
    },
    close: () => closeSync(file),
  }
}

function bandPath(folder: string, band: number) {
  return join(folder, `band-${String(band).padStart(2, '0')}`)
}

const BLOCK_ROWS = 2048
const WAITING_ROWS = 4096
/** One read takes no more than 2 GiB. */
const READ_BYTES = 1 << 30
