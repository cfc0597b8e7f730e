/**
 * Which rows were found near to which better ones. A row is named by its rank; the best has 0. Takes 41 bytes
 * a row of address space, and as much memory as pages of it are used.
 */
export interface NearPairs {
  /** The row has `MOST_NEAR` better ones that are not left out; no more are looked for. */
  isFull(rank: number): boolean
  /** The row has had `MOST_NEAR` better ones, so that others may not have been looked for. */
  wasFull(rank: number): boolean
  has(rank: number, better: number): boolean
  /**
   * Adds a better one to a row that is not full, in the place of one that is left out where no place is free.
   * @param equal bins of the two signatures, `NEAR_BINS` at least
   */
  add(rank: number, better: number, equal: number): void
  /**
   * Decides which rows are left out: those near to a better one that stays. A row that is near only to rows
   * that are left out stays.
   * @param isLast no more pairs are looked for: rows that are left out remain so, because those
   * that would stay now have not been compared with each other
   * @returns whether pairs were added since the last time
   */
  settle(isLast?: boolean): boolean
  /** Whether the row is left out, as settled last. */
  isGone(rank: number): boolean
  /** Tells every pair, as settled last. */
  tellAll(tell: (pair: SettledPair) => void): void
}

export interface SettledPair {
  readonly rank: number
  readonly better: number
  readonly equal: number
  /** This row is left out for the better one: the best of those that stay, or of all where none does. */
  readonly replaces: boolean
}

/** @param rowCount how many rows are ranked */
export function openNearPairs(rowCount: number): NearPairs {
  // Ranks are counted from 1 here: 0 is a free place.
  const better = new Uint32Array(rowCount * MOST_NEAR)
  const equal = new Uint8Array(rowCount * MOST_NEAR)
  const gone = new Uint8Array(rowCount)
  let isAdded = false
  const placesOf = (rank: number) => better.subarray(rank * MOST_NEAR, (rank + 1) * MOST_NEAR)
  const isTaken = (place: number) => place !== 0 && gone[place - 1] === 0
  const wasFull = (rank: number) => better[(rank + 1) * MOST_NEAR - 1] !== 0
  return {
    wasFull,
    isFull: (rank) => wasFull(rank) && placesOf(rank).every(isTaken),
    has: (rank, other) => placesOf(rank).includes(other + 1),
    add(rank, other, bins) {
      const places = placesOf(rank)
      const free = places.indexOf(0)
      const at = free === -1 ? places.findIndex((place) => !isTaken(place)) : free
      places[at] = other + 1
      equal[rank * MOST_NEAR + at] = bins
      isAdded = true
    },
    settle(isLast = false) {
      for (let rank = 0; rank < rowCount; rank++) {
        if (better[rank * MOST_NEAR] === 0 || (isLast && gone[rank] === 1)) continue
        gone[rank] = placesOf(rank).some(isTaken) ? 1 : 0
      }
      const isChanged = isAdded
      isAdded = false
      return isChanged
    },
    isGone: (rank) => gone[rank] === 1,
    tellAll(tell) {
      for (let rank = 0; rank < rowCount; rank++) {
        const first = rank * MOST_NEAR
        if (better[first] === 0) continue
        const places = [...placesOf(rank)].filter((place) => place !== 0)
        const staying = places.filter(isTaken)
        const best = Math.min(...(staying.length > 0 ? staying : places))
        for (const [i, place] of places.entries()) {
          const replaces = gone[rank] === 1 && place === best
          tell({ rank, better: place - 1, equal: equal[first + i] as number, replaces })
        }
      }
    },
  }
}

/** How many better rows near to it are looked for, for each row. */
const MOST_NEAR = 8
