/**
 * The share of two texts that differs, 0 to 1. By words it is what the Dice coefficient of the words,
 * counted with repetitions, leaves of 1. What was only moved shows in the pairs of neighbouring words:
 * a word that is replaced breaks two of them, so they count half. The greater of both is the share.
 * Linear in the length of the texts, which tenants write.
 */
export function changedShare(a: string, b: string): number {
  if (a === b) return 0
  const [mine, theirs] = [wordsOf(a), wordsOf(b)]
  return Math.max(uncommon(mine, theirs), uncommon(pairsOf(mine), pairsOf(theirs)) / 2)
}

function uncommon(mine: readonly string[], theirs: readonly string[]) {
  const total = mine.length + theirs.length
  const counts = new Map<string, number>()
  for (const each of mine) counts.set(each, (counts.get(each) ?? 0) + 1)
  let common = 0
  for (const each of theirs) {
    const left = counts.get(each) ?? 0
    if (left > 0) common++
    counts.set(each, left - 1)
  }
  return total === 0 ? 0 : (total - 2 * common) / total
}

function wordsOf(text: string) {
  return text.split(/\s+/).filter(Boolean)
}

/** The ends of a text count as words, so that a text of one word has pairs too. */
function pairsOf(words: readonly string[]) {
  const framed = ['', ...words, '']
  return framed.slice(1).map((word, i) => `${framed[i]} ${word}`)
}
