import t from 'tap'
import { textMember } from '../../../../workers/import/pull/row-member.ts'

t.test('a text is found in a row without parsing it', (t) => {
  const row = Buffer.from(
    ' {"a": [{"id": "x"}, "}"] , "i\\u0064" :"own", "context":{"more":{"span_id":"no"},"span_id":"s\\"1"}}',
  )
  t.equal(textMember(row, ['id']), 'own')
  t.equal(textMember(row, ['context', 'span_id']), 's"1')
  t.end()
})

t.test('where there is no such text there is none', (t) => {
  for (const [row, ...path] of [
    ['{}', 'id'],
    ['[1]', 'id'],
    ['"id"', 'id'],
    ['', 'id'],
    ['{"id":1}', 'id'],
    ['{"id":null}', 'id'],
    ['{"id":{"id":"x"}}', 'id'],
    ['{"id":"x', 'id'],
    ['{"id"', 'id'],
    ['{"context":"id"}', 'context', 'id'],
    [`{"id":"${'x'.repeat(1001)}"}`, 'id'],
    [`${'['.repeat(100_000)}`, 'id'],
    [`{"a":${'{"id":'.repeat(100_000)}`, 'id'],
    ['{"a":1}{"id":"x"}', 'id'],
    ['{"id":"\\x"}', 'id'],
    ['{:::', 'id'],
  ] as [string, ...string[]][]) {
    t.equal(textMember(Buffer.from(row), path), undefined, row.slice(0, 30))
  }
  t.end()
})
