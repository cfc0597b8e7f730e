import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { SourceUnreadable } from '../../../../workers/import/pull/platform.ts'
import { takeApart } from '../../../../workers/import/pull/take-apart.ts'
import fc from '../../../support/property.ts'

const texts = (rows: readonly Buffer[]) => rows.map((row) => row.toString())

t.test('rows are taken out as they came, and the rest is read', async (t) => {
  const body = ' {"meta" : {"cursor":"c"}, "data" : [ {"a": [1, {"data":[2]}]} ,"x", 3] , "n":1}\n'
  const { rows, rest } = await takeApart(Buffer.from(body), 'data')
  t.same(texts(rows), ['{"a": [1, {"data":[2]}]} ', '"x"', '3'])
  t.same(rest, { meta: { cursor: 'c' }, data: [], n: 1 })
})

t.test('an answer that is a list is one of rows', async (t) => {
  const { rows, rest } = await takeApart(Buffer.from('[{"a":1},{"a":2}]'), 'feedback')
  t.same(texts(rows), ['{"a":1}', '{"a":2}'])
  t.same(rest, {})
})

t.test('JSON Lines are taken apart line by line', async (t) => {
  const { rows } = await takeApart(Buffer.from('{"a":1}\r\n\n{"a":2}\n\r\n{"a":3}'), null)
  t.same(
    texts(rows).map((text) => JSON.parse(text).a),
    [1, 2, 3],
  )
})

t.test('without rows to take the whole answer is read', async (t) => {
  t.same(await takeApart(Buffer.from('{"id":"p"}'), undefined), { rows: [], rest: { id: 'p' } })
})

t.test('what is no such answer is refused', async (t) => {
  const refuse = async (body: string | Buffer, rows: string | null = 'data') =>
    t.type(
      await takeApart(Buffer.from(body), rows).catch((error: unknown) => error),
      SourceUnreadable,
    )
  const broken = [
    '',
    '{',
    '{"data":[1,',
    '{"data":["',
    '<html>',
    '{"data":1}',
    '{"other":[]}',
    '"x"',
  ]
  for (const body of broken) await refuse(body)
  await refuse(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))
  await refuse('['.repeat(20_000))
  await refuse(`[${'1,'.repeat(100_001)}1]`)
  await refuse('{}\n{}\n'.repeat(60_000), null)
  await refuse(JSON.stringify({ data: [], more: 'x'.repeat(2 << 20) }))
})

t.test('any rows come back as they are', async () => {
  const answer = fc.record({
    data: fc.array(fc.jsonValue(), { maxLength: 5 }),
    meta: fc.jsonValue(),
  })
  await fc.assert(
    fc.asyncProperty(answer, fc.constantFrom(undefined, 2), async (value, space) => {
      const text = JSON.stringify(value, null, space)
      const { rows, rest } = await takeApart(Buffer.from(text), 'data')
      const read = { ...rest, data: texts(rows).map((row) => JSON.parse(row) as unknown) }
      return isDeepStrictEqual(read, JSON.parse(text))
    }),
  )
})
