import t from 'tap'
import { changedBand } from '../../../../jobs/rules/skills/changed-band.ts'

const NOTHING = { last_band: null, band_before: null }

t.test('a band is told when it is another one than was shown until now', async (t) => {
  const cases = [
    [{ ...NOTHING, last_band: 'passed' }, 'blocked', 'passed'],
    [{ ...NOTHING, last_band: 'blocked' }, 'passed', 'blocked'],
    [{ ...NOTHING, last_band: 'blocked' }, 'blocked', undefined],
    [{ ...NOTHING, band_before: 'passed' }, 'caution', 'passed'],
    [{ ...NOTHING, band_before: 'passed' }, 'passed', undefined],
    [{ ...NOTHING, last_band: 'caution', band_before: 'passed' }, 'blocked', 'caution'],
  ] as const
  for (const [said, band, previous] of cases) t.equal(changedBand(said, band), previous)
})

t.test('a first scan is told of unless it has found nothing', async (t) => {
  t.equal(changedBand(NOTHING, 'passed'), undefined)
  t.equal(changedBand({ ...NOTHING, band_before: 'unreviewed' }, 'passed'), undefined)
  t.equal(changedBand(NOTHING, 'caution'), 'unreviewed')
  t.equal(changedBand(NOTHING, 'blocked'), 'unreviewed')
})
