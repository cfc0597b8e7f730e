import { open } from 'node:fs/promises'
import { join } from 'node:path'

/** The file of the signatures of all rows made, by their number. */
export interface SignatureFile {
  add(signatures: Int32Array): Promise<void>
  close(): Promise<void>
}

export async function openSignatureFile(folder: string): Promise<SignatureFile> {
  const file = await open(signaturePath(folder), 'w')
  return {
    add: ({ buffer, byteOffset, byteLength }) =>
      file.appendFile(new Uint8Array(buffer, byteOffset, byteLength)),
    close: () => file.close(),
  }
}

/** The file within the scratch folder of a build. */
export function signaturePath(folder: string) {
  return join(folder, 'signatures')
}
