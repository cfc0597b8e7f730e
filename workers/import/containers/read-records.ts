import { NEWLINE, OPEN_BRACE } from '../../../jobs/rules/core/json-bytes.ts'
import { isConverted } from '../../../jobs/rules/import/container.ts'
import type { ConvertedContainer } from '../../../jobs/rules/import/container.ts'
import { beginsAsRequest, bomLength, detectContainer, HEAD_BYTES } from './containers.ts'
import type { Reading, Upload } from './open-upload.ts'
import { dropBytes, peek } from './peek.ts'
import type { Peeked } from './peek.ts'
import { readCsv } from './read-csv.ts'
import { readMultipart } from './read-multipart.ts'
import { readParquet } from './read-parquet.ts'
import { readProtobuf } from './read-protobuf.ts'
import { readTar } from './read-tar.ts'
import { readText } from './read-text.ts'
import type { Batch } from './read-text.ts'
import { openBrackets } from './scan-values.ts'
import { MAX_RECORD_BYTES } from './split-records.ts'
import type { Start } from './split-records.ts'

/**
 * Reads the records of a file, whatever its container is.
 * @param source begins where `from` is, or at the start of a file that is converted
 * @param free takes parts of the source that are not looked at any more
 * @throws UploadFault after all that could be read
 */
export async function* readRecords(
  source: AsyncIterable<Buffer>,
  from: Start | undefined,
  reading: Reading,
  free?: Upload['free'],
): AsyncGenerator<Batch> {
  if (from && !isConverted(from.container)) {
    yield* readText(source, { ...from, container: from.container }, free)
    return
  }
  const peeked = await peek(source, (_, size) => size >= HEAD_BYTES)
  try {
    const { container, offset } = detectContainer(peeked.head, reading.format)
    if (isConverted(container)) {
      const batches = convert(container, peeked, reading, from)
      yield* from ? behind(batches, from) : batches
    } else if (beginsAsRequest(peeked.head)) yield* readRequests(peeked, offset, free)
    else yield* readText(dropBytes(peeked.bytes, offset), { container, offset, line: 0 }, free)
  } finally {
    await peeked.close()
  }
}

function convert(
  container: ConvertedContainer,
  peeked: Peeked,
  reading: Reading,
  from: Start | undefined,
) {
  const { bytes } = peeked
  switch (container) {
    case 'csv':
      return readCsv(bytes)
    case 'parquet':
      return readParquet(bytes, reading, from)
    case 'protobuf':
      return readProtobuf(bytes, reading.signal)
    case 'multipart':
      return readMultipart(peeked)
    case 'tar':
      return readTar(bytes, reading, readRecords)
  }
}

/** What comes behind a position. */
async function* behind(batches: AsyncIterable<Batch>, { offset }: Start): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    yield {
      ...batch,
      found: Iterator.from(batch.found).filter(({ after }) => after.offset > offset),
    }
  }
}

/**
 * Reads requests of OpenTelemetry. Where each has a line of its own, as collectors write them, a line that
 * was cut off costs only itself; a request that is larger than a record can be is read as an envelope.
 */
async function* readRequests(
  { bytes }: Peeked,
  offset: number,
  free?: Upload['free'],
): AsyncGenerator<Batch> {
  const peeked = await peek(
    bytes,
    (part, size) => part.includes(NEWLINE) || size > MAX_RECORD_BYTES,
  )
  try {
    const container = hasWholeLine(peeked) ? 'lines' : 'envelope'
    const start = container === 'lines' ? bomLength(peeked.head) : offset
    yield* readText(dropBytes(peeked.bytes, start), { container, offset: start, line: 0 }, free)
  } finally {
    await peeked.close()
  }
}

/** Whether the first value of a file ends on the line that it begins on. */
function hasWholeLine({ head, isAll }: Peeked) {
  const first = head.indexOf(OPEN_BRACE)
  const line = head.indexOf(NEWLINE, first)
  const end = line < 0 && isAll ? head.length : line
  if (end < 0 || end - first > MAX_RECORD_BYTES) return false
  return openBrackets().findEnd(head.subarray(0, end), first) > 0
}
