import { Readable } from 'node:stream'
import { Answer } from './endpoint.ts'

/**
 * What a streamed answer has one after the other: an object, or the JSON text of one that is too large to
 * be in memory, in pieces.
 */
export type StreamedItem = object | AsyncIterable<string>

/**
 * Answers with JSON Lines, an item a line. Items are asked for as fast as the client reads, and no more
 * once it has gone. An error on the way breaks the connection off, so that no client takes the part that
 * it has for the whole.
 */
export function jsonLines(fileName: string, items: AsyncIterable<StreamedItem>) {
  return new Answer(200, toStream(lines(items)), {
    'Content-Type': 'application/x-ndjson',
    'Content-Disposition': `attachment; filename="${fileName}"`,
  })
}

/** As `jsonLines`, but answers with an object whose only member, called `name`, is the list of the items. */
export function jsonList(name: string, items: AsyncIterable<StreamedItem>) {
  return new Answer(200, toStream(list(name, items)), {
    'Content-Type': 'application/json; charset=utf-8',
  })
}

function toStream(pieces: AsyncIterable<string>) {
  return Readable.from(inChunks(pieces), { objectMode: false })
}

async function* lines(items: AsyncIterable<StreamedItem>) {
  for await (const item of items) {
    yield* piecesOf(item)
    yield '\n'
  }
}

async function* list(name: string, items: AsyncIterable<StreamedItem>) {
  let before = `{${JSON.stringify(name)}:[`
  for await (const item of items) {
    yield before
    yield* piecesOf(item)
    before = ','
  }
  yield before === ',' ? ']}' : `${before}]}`
}

async function* piecesOf(item: StreamedItem) {
  if (Symbol.asyncIterator in item) yield* item
  else yield JSON.stringify(item)
}

/** Joins small pieces, each of which would be a write to the socket. */
async function* inChunks(pieces: AsyncIterable<string>) {
  let chunk = ''
  for await (const piece of pieces) {
    chunk += piece
    if (chunk.length < CHUNK_CHARACTERS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

const CHUNK_CHARACTERS = 64 << 10
