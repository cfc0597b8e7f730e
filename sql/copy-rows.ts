import { jsonText, storableText } from './db.ts'
import type { Transaction } from './db.ts'

/** Rows in the binary format of COPY, without its header and trailer. */
export interface CopyRows {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Where each row ends in `bytes`. */
  readonly ends: readonly number[]
}

/** How a value is written for a column of that type. */
type CopyType =
  'text' | 'uuid' | 'int4' | 'int8' | 'float8' | 'timestamptz' | 'jsonb' | 'text[]' | 'bytea'

/** Writes rows in the binary format of COPY; null and undefined are null in every type. */
export function openRowWriter() {
  let buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let at = 0
  const ends: number[] = []

  function reserve(bytes: number) {
    if (at + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * buffer.length, at + bytes))
    buffer.copy(larger, 0, 0, at)
    buffer = larger
  }
  function int32(value: number) {
    reserve(4)
    at = buffer.writeInt32BE(value, at)
  }
  /** A length is written once it is known, before what was written meanwhile. */
  function measured(write: () => void) {
    const start = at
    int32(0)
    write()
    buffer.writeInt32BE(at - start - 4, start)
  }
  function utf8(text: string) {
    reserve(3 * text.length)
    at += buffer.write(text, at)
  }
  function raw(bytes: Uint8Array) {
    reserve(bytes.length)
    buffer.set(bytes, at)
    at += bytes.length
  }
  const write: Record<CopyType, (value: never) => void> = {
    text: (value: string) => utf8(storableText(value)),
    uuid: (value: string) => raw(Buffer.from(value.replaceAll('-', ''), 'hex')),
    int4: int32,
    int8(value: number) {
      reserve(8)
      at = buffer.writeBigInt64BE(BigInt(value), at)
    },
    float8(value: number) {
      reserve(8)
      at = buffer.writeDoubleBE(value, at)
    },
    timestamptz(value: Date) {
      reserve(8)
      at = buffer.writeBigInt64BE(BigInt(value.getTime() - POSTGRES_EPOCH_MS) * 1000n, at)
    },
    jsonb(value: unknown) {
      reserve(1)
      at = buffer.writeUInt8(JSONB_VERSION, at)
      utf8(jsonText(value))
    },
    'text[]'(values: readonly string[]) {
      // Dimensions, whether it holds nulls, type of its elements; of the one dimension size and origin.
      const head = values.length === 0 ? [0, 0, TEXT_OID] : [1, 0, TEXT_OID, values.length, 1]
      head.forEach(int32)
      for (const value of values) measured(() => utf8(storableText(value)))
    },
    bytea: raw,
  }
  return {
    row(values: readonly (readonly [CopyType, unknown])[]) {
      reserve(2)
      at = buffer.writeInt16BE(values.length, at)
      for (const [type, value] of values) {
        if (value === null || value === undefined) int32(NULL_LENGTH)
        else measured(() => write[type](value as never))
      }
      ends.push(at)
    },
    take: (): CopyRows => ({ bytes: new Uint8Array(buffer.buffer, 0, at).slice(), ends }),
  }
}

/** Sends rows `from` to `to`, exclusive, into a table. */
export async function copyRows(
  tx: Transaction,
  table: string,
  columns: readonly string[],
  { bytes, ends }: CopyRows,
  from: number,
  to: number,
) {
  const start = from === 0 ? 0 : (ends[from - 1] as number)
  const rows = bytes.subarray(start, ends[to - 1] ?? start)
  const query = tx`copy ${tx(table)} (${tx(columns as string[])}) from stdin (format binary)`
  const stream = await query.writable()
  await new Promise<void>((resolve, reject) => {
    // What the server refuses after the last byte reaches only the query, whose promise has been
    // settled with the stream by then: without this, the stream would never end.
    ;(query as unknown as { reject: (error: unknown) => void }).reject = reject
    stream.on('error', reject).on('finish', resolve)
    stream.write(HEADER)
    stream.write(rows)
    stream.end(TRAILER)
  })
}

const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const TRAILER = Buffer.from([0xff, 0xff])
const NULL_LENGTH = -1
const JSONB_VERSION = 1
const TEXT_OID = 25
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)
const FIRST_BYTES = 64 << 10
