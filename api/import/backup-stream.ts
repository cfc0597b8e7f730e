import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { endLine, HEADER, KINDS } from '../../jobs/rules/import/backup/lines.ts'
import { lineOf, openLine } from '../../jobs/rules/import/backup/write-line.ts'
import { writeContents } from '../../jobs/rules/traces/content.ts'
import type { Line } from '../../sql/import/backup/line-rows.ts'
import { openTurns } from '../in-turns.ts'
import { oneAhead } from './one-ahead.ts'

/**
 * The bytes of a backup, as fast as they are read. A page is read from the database while the one before it
 * is written; at most these two are in memory. An error on the way destroys the stream, so that it has no end
 * line. So does a client that takes nothing for `patienceMs`: it would keep its place from others of its organization.
 */
export function backupStream(
  pages: AsyncGenerator<readonly Line[]>,
  patienceMs = PATIENCE_MS,
): Readable {
  const stream = Readable.from(eachTaken(withEnd(pages), patienceMs, giveUp), { objectMode: false })
  function giveUp() {
    stream.destroy(new Error(`The client has taken nothing for ${patienceMs} ms`))
  }
  return stream
}

/** The same chunks. @param giveUp is called when one is not taken for so long */
async function* eachTaken<T>(chunks: AsyncGenerator<T>, ms: number, giveUp: () => void) {
  for await (const chunk of chunks) {
    const timer = setTimeout(giveUp, ms)
    try {
      yield chunk
    } finally {
      clearTimeout(timer)
    }
  }
}

async function* withEnd(pages: AsyncGenerator<readonly Line[]>) {
  const sha256 = createHash('sha256')
  const counts = new Map<string, number>()
  for await (const chunk of chunksOf(pages, counts)) {
    sha256.update(chunk)
    yield chunk
  }
  const sorted = KINDS.flatMap(({ name }) => {
    const count = counts.get(name)
    return count === undefined ? [] : [[name, count] as const]
  })
  yield Buffer.from(endLine({ counts: Object.fromEntries(sorted), sha256: sha256.digest('hex') }))
}

/** @param counts is given the number of lines by kind */
async function* chunksOf(pages: AsyncGenerator<readonly Line[]>, counts: Map<string, number>) {
  const pause = openTurns()
  const chunk = openChunk()
  let pieceCount = 0
  chunk.addText(HEADER)
  for await (const page of oneAhead(pages)) {
    const contents = writeContents(page.flatMap(({ content }) => (content ? [{ content }] : [])))
    for (const { kind, row, content } of page) {
      counts.set(kind.name, (counts.get(kind.name) ?? 0) + 1)
      if (content) {
        const { value } = await contents.next()
        const [, pieces] = value as [unknown, Iterable<Uint8Array>]
        chunk.addText(`${openLine(kind, row)},`)
        let isBrace = true
        for (const piece of pieces) {
          // The line has begun before its content does.
          for (let at = isBrace ? 1 : 0; at < piece.length; at += CHUNK_BYTES) {
            chunk.addBytes(piece.subarray(at, at + CHUNK_BYTES))
            if (chunk.isFull()) yield chunk.take()
          }
          isBrace &&= piece.length === 0
          if (++pieceCount % PIECES_A_TURN === 0) await pause()
        }
        chunk.addText('\n')
      } else chunk.addText(lineOf(kind, row))
      if (chunk.isFull()) yield chunk.take()
    }
    await pause()
  }
  yield chunk.take()
}

/** Joins texts and bytes to what is one write to the socket. */
function openChunk() {
  let parts: Uint8Array[] = []
  let text = ''
  let length = 0
  function flush() {
    if (text !== '') parts.push(Buffer.from(text))
    text = ''
  }
  return {
    addText(more: string) {
      text += more
      length += more.length
    },
    addBytes(bytes: Uint8Array) {
      if (bytes.length === 0) return
      flush()
      parts.push(bytes)
      length += bytes.length
    },
    isFull: () => length >= CHUNK_BYTES,
    take() {
      flush()
      const taken = Buffer.concat(parts)
      parts = []
      length = 0
      return taken
    },
  }
}

const PATIENCE_MS = 5 * 60_000
const CHUNK_BYTES = 256 << 10
/** Between looks at the clock. */
const PIECES_A_TURN = 64
