import t from 'tap'
import { findJsonFault } from '../../../../jobs/rules/core/json-fault.ts'
import fc from '../../../support/property.ts'

t.test('where a text stops being JSON', async (t) => {
  const cases: [string, { line: number; column: number; met: string | undefined }][] = [
    ['', { line: 1, column: 1, met: undefined }],
    ['{"a":', { line: 1, column: 6, met: undefined }],
    ['{"a": 1,}', { line: 1, column: 9, met: '}' }],
    ['{\n  "a": 1\n  "b": 2\n}', { line: 3, column: 3, met: '"' }],
    ['[1,,2]', { line: 1, column: 4, met: ',' }],
    ['[1}', { line: 1, column: 3, met: '}' }],
    ["{'a': 1}", { line: 1, column: 2, met: "'" }],
    ['{"a": NaN}', { line: 1, column: 7, met: 'N' }],
    ['{"a" 1}', { line: 1, column: 6, met: '1' }],
    ['["a\nb"]', { line: 1, column: 4, met: '\n' }],
    ['["\\x"]', { line: 1, column: 3, met: '\\' }],
    ['"abc', { line: 1, column: 5, met: undefined }],
    ['01', { line: 1, column: 2, met: '1' }],
    ['1 😀', { line: 1, column: 3, met: '😀' }],
    ['\ufeff{}', { line: 1, column: 1, met: '\ufeff' }],
  ]
  for (const [text, fault] of cases) t.same(findJsonFault(text), fault, JSON.stringify(text))

  t.test('is nowhere exactly when the text is JSON', async (t) => {
    const spoilt = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ...Array.from('{}[]":,\\ \n0e-.tx\u0001é')))
      .map(([text, place, put]) => {
        const at = place % (text.length + 1)
        return text.slice(0, at) + put + text.slice(at + (place % 2))
      })
    fc.assert(
      fc.property(spoilt, (text) => (findJsonFault(text) === undefined) === isJson(text)),
      { numRuns: 5000 },
    )
    t.pass()
  })

  t.test('is found in what is millions of characters long or deep', async (t) => {
    const deep = '['.repeat(2_000_000)
    t.match(findJsonFault(deep), { column: 2_000_001, met: undefined })
    const long = `"${'\\n'.repeat(2_000_000)}`
    t.match(findJsonFault(long), { column: 4_000_002, met: undefined })
  })
})

function isJson(text: string) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
