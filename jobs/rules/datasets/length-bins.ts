/** Rows whose length is from `from` to `to`, both included. */
export interface LengthBin {
  readonly from: number
  readonly to: number
  readonly rows: number
}

/** The bins with rows, in ascending order. */
export interface RowLengths {
  /** By the estimate of tokens. */
  readonly tokens: readonly LengthBin[]
  /** By messages; of a pair those of the prompt and the chosen one. */
  readonly messages: readonly LengthBin[]
}

/**
 * Counts lengths in bins: below 16 each length has its own, from there on each doubling has eight of equal
 * width. So no two lengths of a bin differ by more than an eighth, and 2^31 lengths have 232 bins.
 */
export function openLengthBins() {
  const counts = new Map<number, number>()
  return {
    add(length: number, rows: number) {
      const from = length - (length % widthAt(length))
      counts.set(from, (counts.get(from) ?? 0) + rows)
    },
    bins: (): LengthBin[] =>
      [...counts]
        .sort(([a], [b]) => a - b)
        .map(([from, rows]) => ({ from, to: from + widthAt(from) - 1, rows })),
  }
}

function widthAt(length: number) {
  return length < 16 ? 1 : 2 ** (28 - Math.clz32(length))
}

/** With the bins without rows between the first and the last. */
export function withEmptyBins(bins: readonly LengthBin[]): LengthBin[] {
  const all: LengthBin[] = []
  for (const bin of bins) {
    for (let last = all.at(-1); last && last.to + 1 < bin.from; last = all.at(-1)) {
      const from = last.to + 1
      all.push({ from, to: from + widthAt(from) - 1, rows: 0 })
    }
    all.push(bin)
  }
  return all
}
