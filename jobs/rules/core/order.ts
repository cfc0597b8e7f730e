/** Compares two texts by their code units, so that every machine sorts them alike. */
export function order(a: string, b: string) {
  return a < b ? -1 : Number(a > b)
}

/** Compares two texts by the bytes of their UTF-8, as Postgres does under the collation "C". */
export function orderBytes(a: string, b: string) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
