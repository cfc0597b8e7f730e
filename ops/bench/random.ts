/** Texts of `count` words; word k of the vocabulary comes up about 1/k as often as the first. */
export function openVocabulary(random: Random) {
  const vocabulary = Array.from({ length: 8000 }, () =>
    Array.from({ length: 2 + random.below(3) }, () => pick(SYLLABLES, random)).join(''),
  )
  return (count: number) => {
    const text = Array.from(
      { length: count },
      () => vocabulary[Math.floor(vocabulary.length ** random.next()) - 1],
    )
    return text.join(' ')
  }
}

/** Mulberry32: small, quick, and good enough to make texts. */
export function openRandom(seed: number) {
  let state = seed
  function next() {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    below: (n: number) => Math.floor(next() * n),
    hex(length: number) {
      let text = ''
      while (text.length < length)
        text += Math.floor(next() * 2 ** 32)
          .toString(16)
          .padStart(8, '0')
      return text.slice(0, length)
    },
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  }
}

export function pick<T>(list: readonly T[], random: Random): T {
  return list[random.below(list.length)] as T
}

const SYLLABLES =
  'ka lo mi ter sun pra ver on in tion al er re con de pro un st ing ed ly ma ne ri to ex am per'.split(
    ' ',
  )

export type Random = ReturnType<typeof openRandom>
export type Words = ReturnType<typeof openVocabulary>
