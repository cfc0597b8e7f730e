import t from 'tap'
import { reader } from '../../../../jobs/rules/core/reader.ts'
import type { Fault } from '../../../../jobs/rules/core/reader.ts'

t.test('a time', async (t) => {
  const read = (at: unknown) => {
    const faults: Fault[] = []
    const time = reader({ at }, '', faults)?.time('at')
    return { time, faults }
  }

  t.test('is in UTC and has the digits it was given', async (t) => {
    const times = {
      '2026-01-02T03:04:05Z': '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05.123456789Z': '2026-01-02T03:04:05.123456789Z',
      '2026-01-02T03:04:05.5+02:00': '2026-01-02T01:04:05.5Z',
      '2026-01-01T23:30:00-0130': '2026-01-02T01:00:00Z',
      '2026-01-02T03:04:05+00:00': '2026-01-02T03:04:05Z',
      '2026-01-02 03:04': '2026-01-02T03:04:00Z',
      '0001-01-01T00:00:00z': '0001-01-01T00:00:00Z',
    }
    for (const [given, time] of Object.entries(times)) t.same(read(given), { time, faults: [] })
  })

  t.test('that is none is one fault', async (t) => {
    for (const given of [
      'yesterday',
      '2026-13-01T00:00:00Z',
      '2026-02-31T00:00:00Z',
      '0000-01-01T00:00:00Z',
      5,
      {},
    ]) {
      t.match(read(given), { time: null, faults: [{ field: 'at', message: /^must be/ }] })
      t.equal(read(given).faults.length, 1)
    }
    t.same(read(null), { time: null, faults: [] })
  })
})

t.test('an id', async (t) => {
  const read = (id: unknown, method: 'id' | 'newId') => {
    const faults: Fault[] = []
    const found = reader({ id }, '', faults)?.[method]('id')
    return { found, faults: faults.length }
  }
  t.same(read('', 'id'), { found: null, faults: 0 }, 'that may be absent may be empty')
  t.same(read('', 'newId'), { found: null, faults: 1 }, 'of something new may not')
  for (const method of ['id', 'newId'] as const) {
    t.same(read(7, method), { found: '7', faults: 0 })
    t.same(read('a\0', method), { found: null, faults: 1 })
    t.same(read(undefined, method), { found: null, faults: 0 })
  }
})
