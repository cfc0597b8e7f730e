import { jsonText, sendCopy, storableText } from './db.ts'
import type { Transaction } from './db.ts'

/** Rows in the binary format of COPY, without its header and trailer. */
export interface CopyRows {
  readonly bytes: Uint8Array
  /** Where each row ends in `bytes`. */
  readonly ends: readonly number[]
}

/** How a value is written for a column of that type. */
type CopyType =
  | 'text'
  | 'uuid'
  | 'bool'
  | 'int4'
  | 'int8'
  | 'float8'
  | 'timestamptz'
  | 'jsonb'
  | 'text[]'
  | 'bytea'

/**
 * Writes rows in the binary format of COPY; null and undefined are null in every type.
 * @param memory to write into, with anything in it; where it is too small, they are moved into memory of their own
 */
export function openRowWriter(memory: ArrayBufferLike = new ArrayBuffer(FIRST_BYTES)) {
  const out = openBytes(memory)
  const write = typeWriters(out)
  const ends: number[] = []
  return {
    row(values: readonly (readonly [CopyType, unknown])[]) {
      out.int16(values.length)
      for (const [type, value] of values) {
        if (value === null || value === undefined) out.int32(NULL_LENGTH)
        else out.measured(() => write[type](value as never))
      }
      ends.push(out.length())
    },
    take: (): CopyRows => ({ bytes: out.take(), ends }),
  }
}

/** How the value of each type is written, without its length. */
function typeWriters(out: Bytes): Record<CopyType, (value: never) => void> {
  const text = (value: string) => out.utf8(storableText(value))
  return {
    text,
    uuid: (value: string) => out.raw(Buffer.from(value.replaceAll('-', ''), 'hex')),
    bool: (value: boolean) => out.int8(value ? 1 : 0),
    int4: out.int32,
    int8: (value: number) => out.int64(BigInt(value)),
    float8: out.float64,
    timestamptz: (value: Date) => out.int64(BigInt(value.getTime() - POSTGRES_EPOCH_MS) * 1000n),
    jsonb(value: unknown) {
      out.int8(JSONB_VERSION)
      out.utf8(jsonText(value))
    },
    'text[]'(values: readonly string[]) {
      // Dimensions, whether it holds nulls, type of its elements; then size and origin of the dimension.
      const head = values.length === 0 ? [0, 0, TEXT_OID] : [1, 0, TEXT_OID, values.length, 1]
      head.forEach(out.int32)
      for (const value of values) out.measured(() => text(value))
    },
    bytea: out.raw,
  }
}

/** A buffer that grows; numbers are big-endian. */
function openBytes(memory: ArrayBufferLike) {
  let buffer: Buffer<ArrayBufferLike> = Buffer.from(memory)
  let at = 0

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
  return {
    int32,
    measured,
    utf8,
    raw,
    int8(value: number) {
      reserve(1)
      at = buffer.writeUInt8(value, at)
    },
    int16(value: number) {
      reserve(2)
      at = buffer.writeInt16BE(value, at)
    },
    int64(value: bigint) {
      reserve(8)
      at = buffer.writeBigInt64BE(value, at)
    },
    float64(value: number) {
      reserve(8)
      at = buffer.writeDoubleBE(value, at)
    },
    length: () => at,
    // Not a copy: it goes to another thread with the memory behind it.
    take: () => new Uint8Array(buffer.buffer, 0, at),
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
  const start = ends[from - 1] ?? 0
  const rows = bytes.subarray(start, ends[to - 1] ?? start)
  await sendCopy(tx`copy ${tx(table)} (${tx(columns)}) from stdin (format binary)`, [
    HEADER,
    rows,
    TRAILER,
  ])
}

const HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const TRAILER = Buffer.from([0xff, 0xff])
const NULL_LENGTH = -1
const JSONB_VERSION = 1
const TEXT_OID = 25
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1)
const FIRST_BYTES = 64 << 10

type Bytes = ReturnType<typeof openBytes>
