/**
 * Which rows were found near to which better ones. A row is named by its rank; the best has 0. Takes 40 bytes
 * a row of address space, and as much memory as pages of it are used.
 */
export interface NearPairs {
  /** The row has `MOST_NEAR` better ones; no more are looked for. */
  isFull(rank: number): boolean
  has(rank: number, better: number): boolean
  /** @param equal bins of the two signatures, `NEAR_BINS` at least */
  add(rank: number, better: number, equal: number): void
  /**
   * Tells every pair. A row is left out when it is near to a better one that stays; where there are
   * several, the best of them leads. A row that is near only to rows that are left out stays.
   */
  settle(tell: (pair: SettledPair) => void): void
}

export interface SettledPair {
  readonly rank: number
  readonly better: number
  readonly equal: number
  /** The better row stays, and this one is left out for it. */
  readonly replaces: boolean
}

/** @param rowCount how many rows are ranked */
export function openNearPairs(rowCount: number): NearPairs {
  // Ranks are counted from 1 here: 0 is a free place.
  const better = new Uint32Array(rowCount * MOST_NEAR)
  const equal = new Uint8Array(rowCount * MOST_NEAR)
  const placesOf = (rank: number) => better.subarray(rank * MOST_NEAR, (rank + 1) * MOST_NEAR)
  return {
    isFull: (rank) => better[(rank + 1) * MOST_NEAR - 1] !== 0,
    has: (rank, other) => placesOf(rank).includes(other + 1),
    add(rank, other, bins) {
      const at = rank * MOST_NEAR + placesOf(rank).indexOf(0)
      better[at] = other + 1
      equal[at] = bins
    },
    settle(tell) {
      const isGone = new Uint8Array(rowCount)
      for (let rank = 0; rank < rowCount; rank++) {
        const first = rank * MOST_NEAR
        if (better[first] === 0) continue
        const others = [...placesOf(rank)].flatMap((place) => (place === 0 ? [] : [place - 1]))
        const leader = Math.min(...others.filter((other) => !isGone[other]))
        if (leader < rank) isGone[rank] = 1
        for (const [i, other] of others.entries()) {
          const bins = equal[first + i] as number
          tell({ rank, better: other, equal: bins, replaces: other === leader })
        }
      }
    },
  }
}

/** How many better rows near to it are looked for, for each row. */
const MOST_NEAR = 8
