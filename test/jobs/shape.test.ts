import t from 'tap'
import { shape, time } from '../../jobs/shape.ts'

t.test('a time', async (t) => {
  const read = (since: unknown) => shape({}, { since: time() }).validate({ since })

  t.test('without an offset is UTC, whatever the zone of the process', async (t) => {
    const { TZ } = process.env
    process.env['TZ'] = 'America/New_York'
    t.teardown(() => {
      if (TZ === undefined) delete process.env['TZ']
      else process.env['TZ'] = TZ
    })
    const times = {
      '2026-01-01T00:00:00': '2026-01-01T00:00:00.000Z',
      '2026-01-01 00:00:00.5': '2026-01-01T00:00:00.500Z',
      '2026-01-01': '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00+02:00': '2025-12-31T22:00:00.000Z',
      '2024-02-29': '2024-02-29T00:00:00.000Z',
    }
    for (const [given, since] of Object.entries(times))
      t.same(read(given).value, { since: new Date(since) }, given)
    t.same(read(new Date(0)).value, { since: new Date(0) }, 'of our own')
  })

  t.test('must be there', async (t) => {
    const none = [
      '2026-02-31',
      '2026-02-29T00:00:00Z',
      '2026',
      '2026-01',
      '0000-01-01',
      'now',
      '',
      {},
    ]
    for (const given of none) t.ok(read(given).error, JSON.stringify(given))
  })
})
