import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openUpload } from '../../workers/import/containers/open-upload.ts'
import type { Reading } from '../../workers/import/containers/open-upload.ts'
import { readChunks, withEntries } from '../../workers/import/containers/read-chunks.ts'
import type { Start } from '../../workers/import/containers/split-records.ts'
import { openTestStorage } from './storage.ts'

/** Reads files as an import reads its upload, up to the chunks that it parses. */
export async function openReader(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-upload-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const storage = openTestStorage(folder)

  async function read(
    content: string | Uint8Array,
    { from, chunkBytes = 4096, format = null, signal = new AbortController().signal }: Options = {},
  ) {
    await writeFile(join(folder, 'upload'), content)
    const makeScratchFolder = () => mkdtemp(join(folder, 'run-'))
    const reading = { format, signal, makeScratchFolder }
    const upload = await openUpload(storage, 'upload', from, reading)
    const chunks = await Array.fromAsync(readChunks(upload, from, chunkBytes))
    const faults = chunks.flatMap((chunk) => withEntries(chunk, chunk.faults))
    return {
      chunks,
      container: chunks.at(-1)?.container,
      broken: chunks.at(-1)?.broken?.code,
      records: chunks.flatMap(({ bytes, ends }) => {
        const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
        return ends.map((end, i) => all.toString('utf8', ends[i - 1] ?? 0, end))
      }),
      lines: chunks.flatMap(({ lines }) => lines),
      /** Line and code of each fault. */
      faults: faults.map(({ line, code }) => [line, code]),
      messages: faults.map(({ message }) => message),
      losses: sum(chunks.map(({ losses }) => losses)),
      scratch: (await readdir(folder)).filter((name) => name.startsWith('run-')),
    }
  }

  /**
   * Reads from the end of each chunk on, and checks that what comes is what came behind it before.
   * Returns what reading from the start gives.
   */
  async function readFromEverywhere(t: Test, content: string | Uint8Array, options: Options = {}) {
    const whole = await read(content, options)
    let seen = 0
    let known = 0
    for (const chunk of whole.chunks.slice(0, -1)) {
      seen += chunk.ends.length
      known += chunk.faults.length
      const from = { ...chunk.next, container: chunk.container }
      const rest = await read(content, { ...options, from })
      t.strictSame(rest.records, whole.records.slice(seen))
      t.strictSame(rest.lines, whole.lines.slice(seen))
      t.strictSame(rest.messages, whole.messages.slice(known))
    }
    return whole
  }

  return { read, readFromEverywhere }
}

function sum(all: readonly Partial<Record<string, number>>[]) {
  const total: Record<string, number> = {}
  for (const each of all) {
    for (const [code, count = 0] of Object.entries(each)) total[code] = (total[code] ?? 0) + count
  }
  return total
}

interface Options {
  readonly from?: Start
  readonly chunkBytes?: number
  readonly format?: Reading['format']
  readonly signal?: AbortSignal
}
