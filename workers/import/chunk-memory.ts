/**
 * Memory that the main thread and those that parse both see. It is used again and again: as garbage it would make V8
 * mark the whole heap every other chunk. So it would where it is moved: V8 counts what comes back as new memory.
 */
const spares: SharedArrayBuffer[] = []
let made = 0
/** Where a run ends before it has stored its rows, their memory is not given back, but collected. */
const collected = new FinalizationRegistry(() => void made--)

/** Memory with anything in it. Undefined for more bytes than one has, and while all are in use. */
export function takeMemory(bytes = 0): SharedArrayBuffer | undefined {
  if (bytes > MEMORY_BYTES) return undefined
  const spare = spares.pop()
  if (spare || made === MEMORIES) return spare
  made++
  const memory = new SharedArrayBuffer(MEMORY_BYTES)
  collected.register(memory, undefined)
  return memory
}

/** Call it when no thread uses the memory any more. Ignores what is not from here. */
export function giveBackMemory(memory: ArrayBufferLike | undefined) {
  if (memory instanceof SharedArrayBuffer) spares.push(memory)
}

/** Puts texts one after another into memory that another thread can see. */
export function openPacker() {
  let bytes: Uint8Array = new Uint8Array()
  let ends: number[] = []
  return {
    /** Copies it. */
    add(text: Uint8Array) {
      const start = ends.at(-1) ?? 0
      const end = start + text.length
      if (end > bytes.length) bytes = enlarged(bytes, start, end)
      bytes.set(text, start)
      ends.push(end)
    },
    /** What was added, and where each text ends in it. Begins anew. */
    take() {
      const taken = { bytes: bytes.subarray(0, ends.at(-1) ?? 0), ends }
      // Of its own: it may be moved to a thread.
      bytes = new Uint8Array()
      ends = []
      return taken
    },
  }
}

/** Larger memory with the first of these bytes. */
function enlarged({ buffer }: Uint8Array, used: number, bytes: number) {
  const memory =
    takeMemory(bytes) ?? new ArrayBuffer(Math.max(bytes, MEMORY_BYTES, 2 * buffer.byteLength))
  const larger = new Uint8Array(memory)
  larger.set(new Uint8Array(buffer, 0, used))
  giveBackMemory(buffer)
  return larger
}

/** What has to be moved to another thread so that it sees these. */
export function movedWith(...views: readonly (Uint8Array | undefined)[]): ArrayBuffer[] {
  return views.flatMap((view) => (view?.buffer instanceof ArrayBuffer ? view.buffer : []))
}

/** A chunk of an import has 4 MiB and what its last record goes beyond that; a single record may take more. */
const MEMORY_BYTES = 5 << 20
/** For the records of those chunks of one import that are read and parsed at a time, and for the rows of as many. */
const MEMORIES = 8
