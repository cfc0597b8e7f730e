import t from 'tap'
import { namesOf } from '../../../../workers/import/containers/member-names.ts'
import { measureCpuMs } from '../../../support/cpu-time.ts'

t.test('the names of an object are found, and no others', async (t) => {
  const text = JSON.stringify({ a: { inner: 1 }, 'b"\\': ['x', { y: 1 }], '': 'value: {' }, null, 1)
  t.strictSame(namesOf(text, 0), ['a', 'b\\"\\\\', ''])
  t.strictSame(namesOf(`before ${text}`, 7).length, 3)
  t.strictSame(namesOf('{"a":1}{"b":2}', 0), ['a'], 'those of one object')
})

t.test('a text that is cut off has the names before', async (t) => {
  for (const text of [
    '{"a":1,"b',
    '{"a":1,"b\\',
    '{"a":1,"b\\"',
    '{"a":1,"b"',
    '{"a":1,"',
    '{"a"  :',
  ])
    t.strictSame(namesOf(text, 0), ['a'], text)
})

t.test('escaped quotation marks take a time that is linear in them', async (t) => {
  const read = (count: number) => () => namesOf(`{"spans":[{"${'\\"'.repeat(count)}`, 0)
  read(1000)()
  const few = measureCpuMs(read(4000))
  t.ok(measureCpuMs(read(32_000)) < 30 * Math.max(few, 2))
})
