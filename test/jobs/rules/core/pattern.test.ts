import t from 'tap'
import { measureCpuMs } from '../../../support/cpu-time.ts'
import {
  compilePattern,
  faultOfPattern,
  MAX_INSTRUCTIONS,
  MAX_STEPS,
} from '../../../../jobs/rules/core/pattern.ts'

t.test('a pattern', async (t) => {
  t.test('matches anywhere in a text, in the syntax of RE2', async (t) => {
    const cases: [string, string, boolean][] = [
      ['order #?\\d+', 'Your order #42 is on its way', true],
      ['^order', 'Your order', false],
      ['(?i)THANK you', 'thank You', true],
      ['a.c', 'a\nc', false],
      ['(?s)a.c', 'a\nc', true],
      ['^b$', 'a\nb', false],
      ['(?m)^b$', 'a\nb', true],
      ['\\bhalf\\b', 'half of \ud83d, NUL \0', true],
      ['^.$', '😀', true],
      ['\\p{Greek}', 'aβ', true],
    ]
    for (const [source, text, expected] of cases) {
      t.equal(faultOfPattern(source), undefined, source)
      t.equal(compilePattern(source).test(text), expected, `${source} in ${JSON.stringify(text)}`)
    }
  })

  t.test('is refused when RE2 does not have it or it is too large', async (t) => {
    for (const source of ['(', 'a**', '[z-a]', '\\1', '(?=a)', '(?<!a)b', 'a{1001}', '\\p{Nope}']) {
      t.match(faultOfPattern(source), /^is no pattern of RE2: /, source)
    }
    t.match(faultOfPattern('(a{30}){40}'), /^is no pattern of RE2: /)
    t.match(faultOfPattern('.{1000}'.repeat(70)), `of which it may have ${MAX_INSTRUCTIONS}`)
    t.equal(faultOfPattern(`a{${MAX_INSTRUCTIONS - 10}}`), undefined)
    const notRepeated = [
      '[{900}]{2}',
      '[]{900}[:alpha:]{900}]',
      '\\{900\\}\\Q{900}{900}\\E',
      'x{,900}',
      '\\p{Greek}{9}',
    ]
    for (const source of notRepeated) t.equal(faultOfPattern(source.repeat(4)), undefined, source)
  })

  t.test('and matches some text where it must', async (t) => {
    const empty = ['', 'a*', '$', '(?m)^', '\\b', '\\B', '\\b|a', 'a|\\b', '\\b(?:[x ]*y)?', '(?:)']
    for (const source of empty) {
      t.equal(faultOfPattern(source), undefined, source)
      t.equal(faultOfPattern(source, { mayBeEmpty: false }), 'matches an empty text', source)
    }
    for (const source of ['a', '\\ba', '(?i)^x+$', '[^a]', '.']) {
      t.equal(faultOfPattern(source, { mayBeEmpty: false }), undefined, source)
    }
  })

  t.test('and has no ranges whose other cases take long to find', async (t) => {
    const wide = [
      '(?i)[a-\\x{10FFFF}]',
      '(?si)[\\x00-\u{10ffff}]',
      `(?i)${'[a-\\x{5000}]'.repeat(35)}`,
    ]
    for (const source of wide) {
      let fault: string | undefined
      t.ok(measureCpuMs(() => (fault = faultOfPattern(source))) < 50, source)
      t.match(fault, /ranges of more than 4096/)
    }
    for (const source of ['[a-\\x{10FFFF}]', '(?i)[a-zа-я0-9]{3}-[0-9]', '(?i)[^a]+']) {
      t.equal(faultOfPattern(source), undefined, source)
    }
  })

  t.test('is refused before it is written out', async (t) => {
    const hostile = [
      `(?:${'(a)'.repeat(150)}){0,1000}`,
      `(?:${'\\pL'.repeat(160)}){1000}`,
      `(?:\\Q${'a'.repeat(480)}\\E){1000}`,
      `(?:${'a'.repeat(20)}(?:${'a'.repeat(400)}){30}){33}`,
      'x{0,1000}'.repeat(55),
    ]
    for (const source of hostile) {
      let fault: string | undefined
      const took = measureCpuMs(() => (fault = faultOfPattern(source)))
      t.match(fault, `of which it may have ${MAX_INSTRUCTIONS}`)
      t.ok(took < 100, `${source} took ${took} ms`)
    }
  })

  t.test('takes no longer than it may, whoever wrote it', async (t) => {
    const hostile = [
      '(a+)+$',
      '(a|aa)+$',
      '(a|a)*b',
      '(.*)*[^ab]$',
      '(?:a?){60}a{60}[^ab]',
      // Of these no automaton of few states is there.
      '[ab]*a[ab]{240}[^ab]',
      '\\pL*a\\pL{200}[^ab]',
      '(?:[ab]*a[ab]{50}|[ab]*b[ab]{60}|[ab]*[ab]{60})[^ab]',
    ]
    for (const source of hostile) {
      const pattern = compilePattern(source)
      // As long as it is looked at.
      let length = MAX_STEPS
      while (pattern.test('a'.repeat(length)) === null) length = Math.floor(length / 1.1)
      for (const text of ['a'.repeat(length), mixed(length)]) {
        let found: boolean | null = null
        const took = measureCpuMs(() => (found = pattern.test(text)))
        t.not(found, null)
        t.ok(took < LIMIT_MS, `${source} took ${took} ms of ${length} characters`)
      }
    }
  })

  t.test('does not tell of a text that is too long for it', async (t) => {
    t.equal(compilePattern('x').test('x'.repeat(MAX_STEPS)), null)
    t.equal(compilePattern('x').test('x'.repeat(10_000)), true)
    t.equal(compilePattern('x{200}').test('x'.repeat(10_000)), null)
  })
})

/** Letters in no order that a short automaton could know. */
function mixed(length: number) {
  let state = 1
  const letters = Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return 'ab'[(state >> 16) & 1]
  })
  return letters.join('')
}

/** Usually 40: this is for slow machines. One that backtracks would take years. */
const LIMIT_MS = 1000
