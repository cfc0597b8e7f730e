import { isSpace } from '../../../jobs/rules/core/json-bytes.ts'
import type { Container, TextContainer } from '../../../jobs/rules/import/container.ts'
import { detectText, HEAD_BYTES } from './containers.ts'
import type { Upload } from './open-upload.ts'
import { openSplitter } from './split-records.ts'
import type { Found, Position, Splitter } from './split-records.ts'

/** What is found in some bytes; take all of it, and copy its records, before the next batch. */
export interface Batch {
  readonly container: Container
  readonly found: Iterable<Found>
  /** Name of the entry of an archive that they are in, fit to be shown. */
  readonly entry?: string
}

/**
 * Reads the records of JSON text. What follows an envelope is read as a file of its own would be: another
 * envelope, or whatever else.
 * @param from where the bytes begin
 * @param free takes parts of the source that are not looked at any more
 */
export async function* readText(
  source: AsyncIterable<Buffer>,
  from: Position & { readonly container: TextContainer },
  free: Upload['free'] = () => undefined,
): AsyncGenerator<Batch> {
  let { container } = from
  let splitter: Splitter | undefined = openSplitter(container, from)
  /** The start of what follows an envelope, until it is enough to tell what that is. */
  let ahead: Buffer = EMPTY
  let at: Position = from

  function* take(bytes: Buffer, isLast: boolean): Generator<Batch> {
    let data = bytes
    for (;;) {
      if (!splitter) {
        if (ahead.length === 0) {
          ahead = Buffer.from(data.subarray(countSpaces(data)))
          at = { ...at, offset: at.offset + data.length - ahead.length }
        } else ahead = Buffer.concat([ahead, data])
        if (ahead.length < HEAD_BYTES && (!isLast || ahead.length === 0)) return
        const detected = detectText(ahead)
        container = detected.container
        splitter = openSplitter(container, { ...at, offset: at.offset + detected.offset })
        data = ahead.subarray(detected.offset)
        ahead = EMPTY
      }
      yield { container, found: splitter.push(data) }
      const rest = splitter.rest()
      if (!rest) return
      splitter = undefined
      data = rest.bytes
      at = rest.from
    }
  }

  for await (const bytes of source) {
    yield* take(bytes, false)
    free(bytes)
  }
  yield* take(EMPTY, true)
  if (splitter) yield { container, found: splitter.end() }
}

function countSpaces(data: Buffer) {
  const first = data.findIndex((byte) => !isSpace(byte))
  return first < 0 ? data.length : first
}

const EMPTY = Buffer.alloc(0)
