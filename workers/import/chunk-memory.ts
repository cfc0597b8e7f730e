/**
 * Memory of chunks that were parsed, for those that come: as garbage it would make V8 mark the whole heap every
 * few chunks.
 */
const spares: ArrayBuffer[] = []

/** Memory of at least so many bytes, with anything in it. */
export function takeMemory(bytes: number): ArrayBuffer {
  const at = spares.findIndex((spare) => spare.byteLength >= bytes)
  const [found] = at < 0 ? [] : spares.splice(at, 1)
  return found ?? new ArrayBuffer(Math.max(bytes, USUAL_BYTES))
}

export function giveBackMemory(memory: ArrayBuffer) {
  if (memory.byteLength === USUAL_BYTES && spares.length < SPARES) spares.push(memory)
}

/** A chunk of an import has 4 MiB and what its last record goes beyond that; a single record may take more. */
const USUAL_BYTES = 5 << 20
/** One for each chunk that is read, sent or parsed at a time. */
const SPARES = 4
