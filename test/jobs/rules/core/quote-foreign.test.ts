import t from 'tap'
import { quoteForeign } from '../../../../jobs/rules/core/quote-foreign.ts'
import fc from '../../../support/property.ts'

const SECRET = 'sk-lf-5d1c2b3a-secret'
const quote = (said: string, most = 200) =>
  quoteForeign(said, { secrets: [SECRET, `pk:${SECRET}`], word: 'key', most })

t.test('what was said stays, up to a length', async (t) => {
  t.equal(quote('No such project'), 'No such project')
  t.equal(quote('a b '.repeat(100), 7), 'a b a b')
  t.equal(quote('a\0b\ud800'), 'ab\ufffd')
})

t.test('secrets that it repeats are hidden, in any form and case', async (t) => {
  const pair = Buffer.from(`pk:${SECRET}`).toString('base64')
  for (const form of [SECRET, SECRET.toUpperCase(), encodeURIComponent(SECRET), pair]) {
    const said = quote(`The key ${form} is unknown`)
    t.notMatch(said.toLowerCase(), form.toLowerCase())
    t.match(said, /^The key .* is unknown$/)
  }
})

t.test('a secret that a text of JSON repeats is hidden', async (t) => {
  const secret = 'a"b\\c'
  const said = quoteForeign(JSON.stringify({ sent: secret }), {
    secrets: [secret],
    word: 'key',
    most: 200,
  })
  t.equal(said, '{"sent":"[key]"}')
})

t.test('a secret is hidden however its characters are escaped', async (t) => {
  const secret = 'sk/a+b?c>d'
  const quoteIt = (said: string) =>
    quoteForeign(said, { secrets: [secret], word: 'key', most: 200 })
  const slashed = secret.replaceAll('/', '\\/')
  const coded = secret
    .split('')
    .map((c) => `\\u00${c.charCodeAt(0).toString(16)}`)
    .join('')
  const base64 = Buffer.from(secret).toString('base64')
  const forms = [
    slashed,
    JSON.stringify(slashed).slice(1, -1),
    coded,
    coded.toUpperCase().replaceAll('U', 'u'),
    secret.replace('+', '\\u002b').replace('/', '\\/'),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(secret).toString('base64url'),
  ]
  for (const form of forms) t.equal(quoteIt(`Unknown ${form}!`), 'Unknown [key]!', form)
  t.equal(quoteIt('a\\/b'), 'a/b')
})

t.test('what else looks secret or personal is hidden', async (t) => {
  t.equal(quote('write to ann@example.org'), 'write to [...]')
  t.notMatch(quote(`token ${'0123456789abcdef'.repeat(3)}`), /0123456789/)
})

t.test('no beginning of a secret is left by a cut', async () => {
  const fill = fc.nat(4200).map((n) => 'ab '.repeat(n / 3) + 'x'.repeat(n % 3))
  fc.assert(
    fc.property(fill, fc.constantFrom(' ', ': ', '"'), (before, gap) => {
      const said = quote(`${before}${gap}${SECRET} was sent`, 10_000)
      return !said.includes(SECRET.slice(0, 8))
    }),
  )
})
