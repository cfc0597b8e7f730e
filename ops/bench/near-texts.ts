import { SHINGLE_WORDS } from '../../jobs/rules/datasets/signature.ts'
import { openRandom, openVocabulary } from './random.ts'

/** Two texts, of which the second was made of the first. */
export interface TextPair {
  readonly one: string
  readonly other: string
}

/** Texts, and such in which some words of another one are replaced. The same for the same seed. */
export function openTexts(seed: number) {
  const random = openRandom(seed)
  const text = openVocabulary(random)
  /** @param edits how many words are replaced at most, each anywhere */
  function edited(given: string, edits: number) {
    const words = given.split(' ')
    for (let i = 0; i < edits; i++) {
      words[random.below(words.length)] = `edit${random.below(1 << 30)}`
    }
    return words.join(' ')
  }
  return {
    random,
    text,
    edited,
    pair(words: number, edits: number): TextPair {
      const one = text(words)
      return { one, other: edited(one, edits) }
    },
  }
}

/** The exact Jaccard similarity of the shingles of two texts, found by another way than that of signatures. */
export function jaccard({ one, other }: TextPair) {
  const [a, b] = [shinglesOf(one), shinglesOf(other)]
  return a.intersection(b).size / a.union(b).size
}

function shinglesOf(text: string) {
  const words = text.toLowerCase().match(WORD) ?? []
  const count = Math.max(1, words.length - SHINGLE_WORDS + 1)
  return new Set(
    Array.from({ length: count }, (_, i) => words.slice(i, i + SHINGLE_WORDS).join(' ')),
  )
}

const ALONE = String.raw`[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]`
const WORD = new RegExp(`[[\\p{L}\\p{N}]&&${ALONE}]|[[\\p{L}\\p{N}]--${ALONE}]+`, 'gv')
