import t from 'tap'
import { changedBand } from '../../../../jobs/rules/skills/changed-band.ts'

const NOTHING = { reviewed: null, scanned: null, band_before: null }

t.test('a band is told when it is another one than was shown until now', async (t) => {
  const cases = [
    [{ ...NOTHING, scanned: 'passed' }, 'blocked', 'passed'],
    [{ ...NOTHING, scanned: 'blocked' }, 'passed', 'blocked'],
    [{ ...NOTHING, scanned: 'blocked' }, 'blocked', undefined],
    [{ ...NOTHING, band_before: 'passed' }, 'caution', 'passed'],
    [{ ...NOTHING, band_before: 'passed' }, 'passed', undefined],
    [{ ...NOTHING, scanned: 'caution', band_before: 'passed' }, 'blocked', 'caution'],
    [{ reviewed: 'passed', scanned: 'blocked', band_before: 'caution' }, 'passed', undefined],
    [{ reviewed: 'passed', scanned: 'blocked', band_before: 'caution' }, 'blocked', 'passed'],
  ] as const
  for (const [said, band, previous] of cases) t.equal(changedBand(said, band), previous)
})

t.test('a first scan is told of unless it has found nothing', async (t) => {
  t.equal(changedBand(NOTHING, 'passed'), undefined)
  t.equal(changedBand({ ...NOTHING, band_before: 'unreviewed' }, 'passed'), undefined)
  t.equal(changedBand(NOTHING, 'caution'), 'unreviewed')
  t.equal(changedBand(NOTHING, 'blocked'), 'unreviewed')
})
