import t from 'tap'
import { openMetrics, showSupervision } from '../../ops/metrics.ts'
import { until } from '../support/until.ts'

t.test('the age of supervision grows on while the database does not answer', async (t) => {
  // What scrapes keeps a process alive.
  const scraper = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(scraper))
  const metrics = openMetrics()
  let age: (() => Promise<number>) | undefined
  showSupervision(metrics, async () => age?.())
  const shown = async () => {
    const line = /^adl_supervision_age_seconds (.*)$/m.exec(await metrics.metrics())
    return line ? Number(line[1]) : undefined
  }
  t.equal(await shown(), undefined, 'nothing is known yet')
  age = async () => 3000
  await shown()
  age = async () => 50
  const before = Number(await shown())
  t.ok(before >= 50 && before < 3000, 'what is so now, not what was so at the scrape before')
  age = () => new Promise(() => {})
  await shown()
  const later = await until(async () => {
    const now = Number(await shown())
    return now > before && now
  })
  t.ok(later < before + 60)
})
