import { closeSync, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SIGNATURE_BYTES } from '../../jobs/rules/datasets/signature.ts'
import { readExactly } from './read-exactly.ts'

/** The file of the signatures of all rows made, by their number. It is in the scratch folder of a build. */
export interface SignatureFile {
  add(signatures: Int32Array): Promise<void>
  close(): Promise<void>
}

export async function openSignatureFile(folder: string): Promise<SignatureFile> {
  const file = await open(pathIn(folder), 'w')
  return {
    add: ({ buffer, byteOffset, byteLength }) =>
      file.appendFile(new Uint8Array(buffer, byteOffset, byteLength)),
    close: () => file.close(),
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
