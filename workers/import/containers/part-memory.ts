export type PartMemory = ReturnType<typeof openPartMemory>

/** Memory that the parts of a file are read into, again and again; see `chunk-memory.ts`. */
export function openPartMemory() {
  const own = new WeakSet<ArrayBufferLike>()
  const spares: ArrayBufferLike[] = []
  return {
    allocate(bytes: number): Buffer {
      const at = spares.findIndex(({ byteLength }) => byteLength >= bytes)
      const memory = spares.splice(at, at < 0 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(bytes).buffer
      own.add(memory)
      return Buffer.from(memory, 0, bytes)
    },
    /** Call it once for a part that nobody looks at any more. Ignores what is not from here. */
    free({ buffer }: Buffer) {
      if (own.delete(buffer)) spares.push(buffer)
    },
  }
}
