import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SIGNATURE_BYTES } from '../../jobs/rules/datasets/signature.ts'
import { readExactly } from './read-exactly.ts'

/**
 * The file of the signatures of all rows made, by their number. It is in the scratch folder of a build, and
 * written within a thread, whose end closes it.
 */
export interface SignatureFile {
  add(signature: Int32Array): void
  close(): void
}

export function openSignatureFile(folder: string): SignatureFile {
  const file = openSync(pathIn(folder), 'w')
  return {
    add: (signature) => writeFileSync(file, signature),
    close: () => closeSync(file),
  }
}

/** Reads the file within a thread. */
export interface SignatureReader {
  /** Reads the signatures of `count` rows from `row` on. */
  read(row: number, into: Int32Array, count?: number): void
  close(): void
}

export function openSignatureReader(folder: string): SignatureReader {
  const file = openSync(pathIn(folder), 'r')
  return {
    read(row, into, count = 1) {
      readExactly(file, into, { bytes: count * SIGNATURE_BYTES, from: row * SIGNATURE_BYTES })
    },
    close: () => closeSync(file),
  }
}

function pathIn(folder: string) {
  return join(folder, 'signatures')
}
