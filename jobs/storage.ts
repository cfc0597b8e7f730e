import type { Readable } from 'node:stream'

/**
 * Where finished files and uploads are kept. Keys are relative paths of ids and fixed words; they
 * never hold text that a client wrote. Every method throws `StorageAway` while the storage cannot be
 * used, within seconds also where it hangs.
 */
export interface Storage {
  /** Writes all of `source` under the key, durably, and returns its size; nothing is left of a failed write. */
  write(key: string, source: AsyncIterable<Uint8Array>): Promise<number>
  /** @throws FileMissing */
  read(key: string, options?: ReadOptions): Promise<Readable>
  /** Size in bytes. @throws FileMissing */
  measure(key: string): Promise<number>
  /**
   * Moves a finished local file under the key, durably. The key has the hash of its bytes, so that what is
   * there already under it is the same file, or one that was damaged.
   */
  adopt(key: string, localPath: string): Promise<void>
  /**
   * A file that is not there is deleted already. One that was changed after `unchangedSince` stays.
   * @returns false for a file that stays, or that was seen not to be there
   */
  delete(key: string, unchangedSince?: Date): Promise<boolean>
  /** All files, in no order, those of writes under way included. */
  list(): AsyncIterable<StoredFile>
  /**
   * An address at which whoever has it may read the file for a while, by GET and in ranges; undefined
   * where there is none, as for a folder. Does not check that the file exists.
   */
  linkTo(key: string, options: LinkOptions): Promise<string | undefined>
  /** Why the storage cannot be used; undefined while it can. */
  findFault(): Promise<StorageAway | undefined>
  /** Tries all that is done with a storage, for an operator who asks whether it works. */
  examine(): Promise<void>
}

export interface ReadOptions {
  /** The first byte; default 0. */
  readonly start?: number
  /** The byte after the last one; default that of the file. */
  readonly end?: number
  /**
   * Memory for the next part, of at most so many bytes; default new memory. A storage that reads over a network
   * ignores it.
   */
  readonly allocate?: (bytes: number) => Buffer
}

export interface StoredFile {
  /** Can be given to `delete` also where it is a part. */
  readonly key: string
  /** Of a write that is under way, those that have come. */
  readonly bytes: number
  /** By the clock of the storage. */
  readonly changedAt: Date
  /** The key that is written, by a write that is under way or whose process was killed. */
  readonly partOf: string | undefined
}

export interface LinkOptions {
  readonly seconds: number
  readonly contentType: string
  readonly contentDisposition: string
}

/** The storage is not there, read-only, full, or does not answer. The message is for the operator. */
export class StorageAway extends Error {}

/** The storage works and has no file under the key. */
export class FileMissing extends Error {}
