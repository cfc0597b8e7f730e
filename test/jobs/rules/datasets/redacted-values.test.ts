import t from 'tap'
import { SENSITIVE_CLASSES } from '../../../../jobs/rules/core/sensitive.ts'
import type { SensitiveClass } from '../../../../jobs/rules/core/sensitive.ts'
import { openTextRedactors } from '../../../../jobs/rules/datasets/redact-text.ts'
import { openRandom, openVocabulary, pick } from '../../../../ops/bench/random.ts'
import { measureCpuMs } from '../../../support/cpu-time.ts'
import { LEADS, openLikenesses, openPlantedValues } from '../../../support/planted-values.ts'
import fc from '../../../support/property.ts'

const NOTHING = { ruleset: '', patterns: [], keep: [] }
const VALUES = 5000
const LENGTH = 1 << 16

/** What values, texts of JSON and escapes begin with, go on with and end with. */
const PIECES = [
  String.raw`{ } [ ] " \ \" \n \u0040 : , ' = a A1 1 0. - +1 (1 1- DE00 1.1. :: f: @ a@a. :// a:b@`,
  String.raw`token "token": password=' api_key= Cookie: cookie: a=b; {"secret":{"a":" eyJ eyJaaaaaaaa. sk- AKIA -----BEGIN PRIVATE KEY-----`,
  String.raw`-----END v1. data: ;base64, [EMAIL_1] CARD_1]`,
]
  .flatMap((pieces) => pieces.split(' '))
  .concat(' ', '\n', '\t', '1 ', '4111 ', 'Bearer ', 'Basic ', '-----BEGIN ', '😀', '\ud800')

/** Where values stand: in prose, in texts of JSON, in JSON within JSON, and as arguments. */
const WAYS: readonly Way[] = [
  (name, value, words) => prose(`${words(3)} ${inWords(name, value)} ${words(3)}`),
  (name, value, words) => prose(`${words(2)}: ${inWords(name, value)}.\n${words(2)}`),
  (name, value, words) => prose(`(${inWords(name, value)}), ${words(2)}`),
  (name, value, words) => prose(JSON.stringify(inMembers(name, value, words))),
  (name, value, words) => prose(JSON.stringify(inMembers(name, value, words), null, 2)),
  (name, value, words) => prose(`${words(2)} ${JSON.stringify(inMembers(name, value, words))}`),
  (name, value, words) =>
    prose(JSON.stringify({ result: JSON.stringify(inMembers(name, value, words)) })),
  (name, value, words) =>
    prose(JSON.stringify({ log: `${words(2)}\n${inWords(name, value)}\n\t${words(1)}` })),
  (name, value, words) => asArguments(inMembers(name, value, words)),
  (name, value, words) => asArguments({ list: [words(1), inWords(name, value)], n: 7 }),
  (name, value, words) => asArguments({ body: JSON.stringify(inMembers(name, value, words)) }),
]

t.test('none of 5,000 values of a class is left, and all are counted', async (t) => {
  for (const name of SENSITIVE_CLASSES) {
    const random = openRandom(1)
    const words = openVocabulary(random)
    const make = openPlantedValues(random)[name]
    const openRow = openTextRedactors([name], NOTHING)
    const left: string[] = []
    let count = 0
    for (let i = 0; i < VALUES; i++) {
      const value = make()
      const { text, isJson } = pick(WAYS, random)(name, value, words)
      const row = openRow()
      const redacted = row.redactText(text)
      count += row.counts.get(name) ?? 0
      if (redacted.includes(value) || redacted.includes(JSON.stringify(value).slice(1, -1))) {
        left.push(text)
      }
      if (isJson) JSON.parse(redacted)
    }
    t.same(left.slice(0, 3), [], name)
    t.equal(count, VALUES, name)
  }
})

t.test('at most one in a thousand texts that look like values is touched', async (t) => {
  const random = openRandom(2)
  const words = openVocabulary(random)
  const likeness = openLikenesses(random)
  const openRow = openTextRedactors([...SENSITIVE_CLASSES], NOTHING)
  const touched: string[] = []
  for (let i = 0; i < 20_000; i++) {
    const said = likeness()
    const text = pick([`${words(3)} ${said} ${words(2)}`, JSON.stringify({ said })], random)
    if (openRow().redactText(text) !== text) touched.push(text)
  }
  t.ok(touched.length <= 20, `${touched.length}: ${touched.slice(0, 20).join('\n')}`)
})

t.test('no text takes long', async () => {
  const openRow = openTextRedactors([...SENSITIVE_CLASSES], NOTHING)
  const piece = fc.constantFrom(...PIECES)
  const repeated = fc.array(piece, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(piece, repeated, piece, (before, pieces, after) => {
      const text = pieces.join('')
      const long = before + text.repeat(Math.ceil(LENGTH / text.length)) + after
      // Quadratic time would be minutes.
      return measureCpuMs(() => openRow().redactText(long)) < 2000
    }),
    { numRuns: 300 },
  )
})

function inWords(name: SensitiveClass, value: string) {
  const [before, after] = LEADS[name] ?? ['', '']
  return `${before}${value}${after}`
}

function inMembers(name: SensitiveClass, value: string, words: Words) {
  const note = words(2)
  if (name === 'secret') return { note, login: { client_secret: value } }
  return { note, [words(1)]: inWords(name, value), n: 5 }
}

function prose(text: string) {
  return { text, isJson: false }
}

function asArguments(args: object) {
  return { text: JSON.stringify(args), isJson: true }
}

type Words = ReturnType<typeof openVocabulary>
type Way = (
  name: SensitiveClass,
  value: string,
  words: Words,
) => { readonly text: string; readonly isJson: boolean }
