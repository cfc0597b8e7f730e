import { extract } from 'tar-stream'
import type { Extract } from 'tar-stream'
import { UploadFault } from './upload-fault.ts'

/** A member of an archive. */
export interface TarEntry {
  /** Fit to be shown. It is used for nothing else. */
  readonly name: string
  readonly isFile: boolean
  /** Ends early where the archive does. What of it is not read is skipped. */
  readonly bytes: AsyncIterable<Buffer>
}

/**
 * The entries of a tar archive, in their order. A fault of the source, or its early end, is thrown after
 * the entry that it is in.
 * @throws UploadFault
 */
export async function* readEntries(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  // It takes no further bytes before the last ones went into an entry.
  const archive = extract({ highWaterMark: 1 })
  const feed = openFeed(archive)
  const feeding = feed.run(source)
  let count = 0
  try {
    for await (const entry of archive) {
      if (++count > MAX_ENTRIES) throw new UploadFault('too_many_entries', TOO_MANY)
      const content = openContent(entry)
      yield { name: nameOf(entry), isFile: isFile(entry), bytes: content.rest() }
      for await (const _ of content.rest()) continue
      if (!content.isWhole()) throw truncated()
      feed.leaveEntry()
    }
    await feeding
    feed.throwFault()
    if (!feed.isWhole()) throw truncated()
  } catch (error) {
    // Where the source has a fault, its end is no fault of the archive.
    feed.throwFault()
    throw error instanceof UploadFault ? error : faultOf(error, count)
  } finally {
    archive.destroy()
    await feeding
  }
}

/** Writes a source to an archive. */
function openFeed(archive: Extract) {
  let fault: { readonly error: unknown } | undefined
  let entry: { push(bytes: null): void } | undefined
  let isOver = false
  let end: Buffer = Buffer.alloc(0)
  let wake = () => {}
  archive.on('entry', (_, stream) => (entry = stream))
  archive.on('drain', () => wake())
  archive.on('close', () => wake())

  async function write(source: AsyncIterable<Buffer>) {
    for await (const bytes of source) {
      // Its reader has left it: nothing would wake a write that waits.
      if (archive.destroyed) return
      end = lastBytes(end, bytes)
      const drained = new Promise<void>((resolve) => (wake = resolve))
      if (!archive.write(bytes)) await drained
      if (archive.destroyed) return
    }
  }

  return {
    /** Never rejects. */
    async run(source: AsyncIterable<Buffer>) {
      await write(source).catch((error: unknown) => (fault = { error }))
      isOver = true
      // To end the archive within an entry would lose what of the entry is not read yet.
      if (entry) entry.push(null)
      else archive.end(null)
    },
    /** Call it when all of an entry was read. */
    leaveEntry() {
      entry = undefined
      if (isOver) archive.end(null)
    },
    throwFault() {
      if (fault) throw fault.error
    },
    /** Whether the archive has its end: without that it may have been cut between two entries. */
    isWhole: () => end.equals(END),
  }
}

/** The last bytes of what was read, as many as mark the end of an archive. */
function lastBytes(before: Buffer, bytes: Buffer) {
  const last = bytes.length < END.length ? Buffer.concat([before, bytes]) : bytes
  return Buffer.from(last.subarray(-END.length))
}

function openContent(entry: Entry) {
  const parts = (entry as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let left = entry.header.size
  return {
    /** Goes on where the last one stopped; one that is not read to its end closes nothing. */
    async *rest(): AsyncGenerator<Buffer> {
      for (let next; !(next = await parts.next()).done;) {
        left -= next.value.length
        yield next.value
      }
    },
    isWhole: () => left === 0 || !isFile(entry),
  }
}

function isFile({ header: { type } }: Entry) {
  return type === 'file' || type === 'contiguous-file'
}

function nameOf({ header: { name } }: Entry) {
  const printable = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}"]/gu, '\ufffd')
  const characters = Array.from(printable.slice(0, 2 * SHOWN_NAME))
  if (characters.length <= SHOWN_NAME) return printable
  return `${characters.slice(0, SHOWN_NAME - 1).join('')}…`
}

function faultOf(error: unknown, count: number) {
  if (error instanceof Error && error.message === 'Unexpected end of data') return truncated()
  const message = `The tar archive is damaged after ${count} of its entries`
  return new UploadFault('damaged_tar', message)
}

function truncated() {
  return new UploadFault('truncated', 'The tar archive ends early')
}

/** Two blocks of zeros end an archive; more of them may follow. */
const END = Buffer.alloc(1024)
const MAX_ENTRIES = 100_000
const TOO_MANY = `The tar archive has more than ${MAX_ENTRIES} entries`
const SHOWN_NAME = 100

type Entry = Extract extends AsyncIterable<infer Each> ? Each : never
