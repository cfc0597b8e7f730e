import t from 'tap'
import { readSearchBox } from '../../../../jobs/rules/traces/search-box.ts'

t.test('only the last part of the last word is one that is not typed to its end', (t) => {
  for (const [text, beginning, besides] of [
    ['exc', "'exc':*", ''],
    ['hit rate_limit_exc', "'rate_limit_exc':* | 'rate' & 'limit' & 'exc':*", 'hit '],
    ['self-serv', "'self-serv':* | 'self' & 'serv':*", ''],
    ['refund,', "'refund,':*", ''],
    ["isn't", "'isn''t':* | 'isn' & 't':*", ''],
    ['c:\\tm', "'c:\\\\tm':* | 'c' & 'tm':*", ''],
    ['%', "'%':*", ''],
    ['one or two', "'two':*", ''],
    ['one -two', '', ''],
    ['"one two', '', ''],
  ] as const) {
    t.match(readSearchBox(text), { text, beginning, besides })
  }
  t.end()
})

t.test('a beginning of one or two letters is short', (t) => {
  const short = ['o', 'one or tw', "isn't", 'rate_l', '%']
  const long = ['one', 'o two', 'r_limit', 'one -t', '"o']
  for (const text of short) t.equal(readSearchBox(text).isShort, true, text)
  for (const text of long) t.equal(readSearchBox(text).isShort, false, text)
  t.end()
})
