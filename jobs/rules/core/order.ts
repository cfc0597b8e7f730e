/** Compares two texts by their code units, so that every machine sorts them alike. */
export function order(a: string, b: string) {
  return a < b ? -1 : Number(a > b)
}
