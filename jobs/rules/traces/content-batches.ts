/**
 * Cuts listed traces into batches whose contents may be in memory at once: of `traces` traces at most,
 * and ended by the first that brings them to `bytes` compressed bytes. Each has one trace at least.
 */
export async function* contentBatches<T extends { content_bytes: number }>(
  chunks: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  limits: { traces: number; bytes: number },
): AsyncGenerator<T[]> {
  let batch: T[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    for (const trace of chunk) {
      batch.push(trace)
      bytes += trace.content_bytes
      if (batch.length < limits.traces && bytes < limits.bytes) continue
      yield batch
      batch = []
      bytes = 0
    }
  }
  if (batch.length > 0) yield batch
}
