import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { daysAgo, hashOf, openScores, times } from '../../support/scored-skills.ts'

const PASS = 1

t.test('the bench leg of scores of public skills', async (t) => {
  const { setup, install, use, benchmark, score } = await openScores(t)

  t.test(
    'the bench leg is the newest run of the public version, else of the one before',
    async (t) => {
      const { owner, skill } = await setup(['a', 'b', 'c'])
      const good = times(20, ['passed', 'passed'] as const)
      await benchmark(owner, skill, good, { version: 1 })
      t.match(await score(skill), { bench: null, benchmark: null })
      await benchmark(owner, skill, [['failed', 'failed']], { version: 2 })
      t.match(await score(skill), { bench: 0, score: 0, tier: 1, benchmark: { verdict: 'fail' } })
      const cases = [...good.slice(2), ...times(2, ['failed', 'passed'] as const)]
      await benchmark(owner, skill, cases, { version: 3, at: daysAgo(1) })
      t.match(await score(skill), { bench: 0.599, lift: -0.1, benchmark: { never_hurt: false } })
      const tokens = { with: 80, without: 100 }
      await benchmark(owner, skill, times(10, ['passed', 'failed'] as const), {
        version: 3,
        tokens,
      })
      t.match(await score(skill), {
        bench: 0.7225,
        lift: 1,
        token_saving: 0.2,
        benchmark: {
          verdict: 'pass',
          passed_cases: 10,
          total_cases: 10,
          pass_rate_delta_pts: 100,
          never_hurt: true,
          tokens_delta_pct: -20,
          turns_delta_pct: null,
        },
      })
    },
  )

  t.test('a run with too many errors counts for nothing', async (t) => {
    const { owner, skill } = await setup()
    const passed = times(10, ['passed', 'failed'] as const)
    await benchmark(owner, skill, passed, { at: daysAgo(1) })
    await benchmark(owner, skill, [
      ['failed', 'passed'],
      ...times(2, ['errored', 'passed'] as const),
    ])
    t.match(await score(skill), { bench: 0.7225, benchmark: { passed_cases: 10 } })
  })

  t.test('a run is reproduced by another key that comes to about the same', async (t) => {
    const { owner, name, skill } = await setup(['a', 'b'])
    await use(owner, name, times(30, PASS), { hash: hashOf('b') })
    const cases = (passed: number) => [
      ...times(passed, ['passed', 'failed'] as const),
      ...times(20 - passed, ['failed', 'failed'] as const),
    ]
    const other = { orgId: owner.orgId, keyId: randomUUIDv7() }
    const at = daysAgo(1)
    await benchmark(owner, skill, cases(18))
    await benchmark(owner, skill, cases(18), { at })
    await benchmark(other, skill, cases(15), { at })
    await benchmark(other, skill, cases(18), { at, suite: 'another' })
    await benchmark(other, skill, cases(18), { at, version: 1 })
    t.match(await score(skill), { tier: 2, bench: 0.699 })
    await benchmark(other, skill, cases(16), { at })
    t.match(await score(skill), { tier: 3, bench: 0.699 })
  })

  t.test('a run is reproduced by three organizations that installed the skill', async (t) => {
    const { owner, name, skill } = await setup()
    await use(owner, name, times(30, PASS), { hash: hashOf('a') })
    const cases = times(20, ['passed', 'failed'] as const)
    await benchmark(owner, skill, cases)
    const changed = await install(skill, ['of our own'])
    await benchmark(changed.org, changed.skill, cases)
    const repeat = async (run: Parameters<typeof benchmark>[2]) => {
      const { org, skill: copy } = await install(skill)
      await benchmark(org, copy, run)
    }
    const failed = times(20, ['failed', 'failed'] as const)
    for (const run of [cases, cases, failed]) await repeat(run)
    t.match(await score(skill), { tier: 2 }, 'two do not tell what either of them has')
    await repeat(cases)
    t.match(await score(skill), { tier: 3, benchmark: { total_cases: 20 } })
  })
})
