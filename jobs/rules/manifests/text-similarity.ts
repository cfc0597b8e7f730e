/**
 * How much of two texts is the same, 0 to 1: the Dice coefficient of their pairs of neighbouring
 * words, counted with repetitions, 2 * common / (pairs of one + pairs of the other). Linear in the
 * length of the texts, which tenants write.
 */
export function similarity(a: string, b: string): number {
  if (a === b) return 1
  const [mine, theirs] = [wordPairs(a), wordPairs(b)]
  const counts = new Map<string, number>()
  for (const pair of mine) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  let common = 0
  for (const pair of theirs) {
    const left = counts.get(pair) ?? 0
    if (left > 0) common++
    counts.set(pair, left - 1)
  }
  return (2 * common) / (mine.length + theirs.length)
}

/** The ends of a text count as words, so that a text of one word has pairs too. */
function wordPairs(text: string) {
  const words = ['', ...text.split(/\s+/).filter(Boolean), '']
  return words.slice(1).map((word, i) => `${words[i]} ${word}`)
}
