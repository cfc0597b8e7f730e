import { Readable } from 'node:stream'
import type { Storage } from '../../../jobs/storage.ts'

interface Range {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** A stored file, or a part of it, as a Blob that reads from the storage what is asked for. */
export class StoredBlob extends Blob {
  readonly #storage: Storage
  readonly #key: string
  readonly #range: Range

  constructor(storage: Storage, key: string, range: Range) {
    super()
    this.#storage = storage
    this.#key = key
    this.#range = range
  }

  override get size() {
    return this.#range.end - this.#range.start
  }

  override slice(from = 0, to = this.size) {
    const { start, end } = this.#range
    const range = { start: Math.min(start + from, end), end: Math.min(start + to, end) }
    return new StoredBlob(this.#storage, this.#key, range)
  }

  override stream(): ReturnType<Blob['stream']> {
    return Readable.toWeb(Readable.from(this.#read(), { objectMode: false })) as never
  }

  /** @throws RangeError for more than `MAX_WHOLE_BYTES`, which are read as a stream only */
  override async arrayBuffer() {
    if (this.size > MAX_WHOLE_BYTES)
      throw new RangeError(`${this.#key} is too large to be read whole`)
    const bytes = new Uint8Array(this.size)
    let at = 0
    for await (const chunk of this.#read()) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    return bytes.buffer
  }

  async *#read() {
    for await (const chunk of await this.#storage.read(this.#key, this.#range)) {
      yield chunk as Buffer
    }
  }
}

const MAX_WHOLE_BYTES = 16 << 20
