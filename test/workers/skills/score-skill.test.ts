import t from 'tap'
import { SKILL_RATER_CONFIG } from '../../../jobs/rules/skills/skill-rater.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { updateScore } from '../../../sql/skills/registry-scores.ts'
import type { RegistryScore } from '../../../sql/skills/registry-scores.ts'
import { dropPeriod } from '../../../sql/transactions/drop-period.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { daysAgo, hashOf, openScores, times } from '../../support/scored-skills.ts'
import type { Rating } from '../../support/skill-evidence.ts'

const [PASS, REVIEW, FAIL] = [1, 0.5, 0]

t.test('scores of public skills', async (t) => {
  const { service, sql, setup, install, use, rate, benchmark, shown, score } = await openScores(t)

  t.test('a skill without evidence is new and has none', async (t) => {
    const { skill } = await setup()
    t.match(await score(skill), {
      tier: 0,
      score: null,
      bench: null,
      live: null,
      rating: null,
      rating_count: 0,
      avg_rating: null,
      avg_pass_rate: null,
      lift: null,
      token_saving: null,
      benchmark: null,
      scored_at: Date,
      evidence_at: null,
    })
  })

  t.test('the newest of all evidence tells of when it is', async (t) => {
    const { owner, name, skill } = await setup()
    const [oldest, older, newest] = [daysAgo(30), daysAgo(20), daysAgo(10)]
    await use(owner, name, [PASS, FAIL], { hash: hashOf('a'), at: older })
    await use(owner, name, [PASS], { hash: hashOf('a'), at: oldest })
    t.same((await score(skill))?.['evidence_at'], older)
    await benchmark(owner, skill, [['passed', 'failed']], { at: newest })
    t.same((await score(skill))?.['evidence_at'], newest)
    await use(owner, name, [null], { hash: hashOf('a') })
    t.same((await score(skill))?.['evidence_at'], newest, 'but of what is not evaluated')
  })

  t.test('the live leg counts evaluated traces, and those to review as half', async (t) => {
    const { owner, name, skill } = await setup()
    await use(owner, name, [...times(8, PASS), REVIEW, REVIEW, FAIL, null], { hash: hashOf('a') })
    t.match(await score(skill), { tier: 1, score: 0.523, live: 0.523, avg_pass_rate: 0.8182 })
  })

  t.test(
    'a trace counts for the body that it names, which is public or was just before',
    async (t) => {
      const { owner, name, skill } = await setup(['a', 'b', 'c'])
      await use(owner, name, [PASS, PASS], { hash: hashOf('a') })
      t.match(await score(skill), { score: null })
      await use(owner, name, [PASS], { hash: hashOf('b') })
      t.match(await score(skill), { score: 0.2065 })
      await use(owner, name, times(9, PASS), { hash: hashOf('c') })
      t.match(await score(skill), { score: 0.7225 })
      await use(owner, 'another', [FAIL], { hash: hashOf('c') })
      t.match(await score(skill), { score: 0.7225 })
    },
  )

  t.test('a trace that names no body counts for the version that was the newest', async (t) => {
    const { owner, name, skill } = await setup(['a', 'b', 'c', 'd'])
    for (const [i, id] of skill.versionIds.entries()) {
      await sql`
        update skill_versions set created_at = ${daysAgo(40 - 10 * i)}
        where org_id = ${owner.orgId} and id = ${id}`
    }
    // Version 4 was never published.
    await sql`
      update registry_skills set current_version = 3, current_version_id = ${skill.versionIds[2] ?? ''}
      where skill_id = ${skill.id}`
    for (const days of [45, 35, 5]) await use(owner, name, [FAIL], { at: daysAgo(days) })
    t.match(await score(skill), { score: null })
    for (const days of [25, 15]) await use(owner, name, [PASS], { at: daysAgo(days) })
    t.match(await score(skill), { score: 0.3424 })
  })

  t.test('a trace that names a body twice, or two of them, counts once', async (t) => {
    const { owner, name, skill } = await setup(['a', 'b'])
    const [id] = await use(owner, name, [PASS], { hash: hashOf('a') })
    await sql`
      insert into trace_skills select org_id, project_id, trace_id, skill_name, ${hashOf('b')}, started_at
      from trace_skills where org_id = ${owner.orgId} and trace_id = ${id ?? ''}`
    t.match(await score(skill), { score: 0.2065 })
  })

  t.test('what is 90 days old counts no more, and what is of the future not yet', async (t) => {
    const { owner, name, skill } = await setup()
    const hash = hashOf('a')
    const [old] = await use(owner, name, [PASS], { hash, at: daysAgo(89) })
    await rate(owner, { traceId: old ?? '', versionId: skill.versionIds[0] })
    await benchmark(owner, skill, [['passed', 'failed']], { at: daysAgo(89) })
    await use(owner, name, [FAIL], { hash, at: daysAgo(-2) })
    t.match(await score(skill), { bench: 0.2065, live: 0.2065, rating: 0.2065 })
    t.match(await score(skill, daysAgo(-1.5)), {
      bench: null,
      live: null,
      rating: null,
      score: null,
    })
  })

  t.test('a decision that is changed, and a trace that is deleted, change the score', async (t) => {
    const { owner, name, skill } = await setup()
    const [kept = '', gone = ''] = await use(owner, name, [PASS, FAIL], { hash: hashOf('a') })
    t.match(await score(skill), { avg_pass_rate: 0.5 })
    t.equal((await service.client(owner.key).delete(`/traces/${gone}`)).status, 204)
    t.match(await score(skill), { avg_pass_rate: 1 })
    await sql`
      update verdicts set eval_verdict = 'fail' where org_id = ${owner.orgId} and trace_id = ${kept}`
    t.match(await score(skill), { avg_pass_rate: 0 })
  })

  t.test(
    'traces of others count when three organizations have some, as do their sums',
    async (t) => {
      const { owner, name, skill } = await setup()
      await use(owner, name, [PASS], { hash: hashOf('a') })
      for (let i = 0; i < 2; i++) {
        const { org, name } = await install(skill)
        await use(org, name, times(2, FAIL), { hash: hashOf('a') })
      }
      // Traces of the same organization again, and of one that has another body.
      const changed = await install(skill, ['a', 'of our own'])
      await use(changed.org, changed.name, [FAIL], { hash: hashOf('of our own') })
      const installed = await install(skill)
      await use(installed.org, installed.name, [null], { hash: hashOf('a') })
      t.match(await score(skill), { avg_pass_rate: 1, live: 0.2065 })
      await use(installed.org, installed.name, times(5, PASS), { hash: hashOf('a') })
      t.match(await score(skill), { avg_pass_rate: 0.6 })
    },
  )

  t.test('the copy of an installation counts while its body is that of the skill', async (t) => {
    const { skill } = await setup()
    for (const bodies of [['a'], ['a'], ['a', 'of our own']]) {
      const { org, name, skill: copy } = await install(skill, bodies)
      await sql`
        update skill_versions set created_at = ${daysAgo(1)}
        where org_id = ${org.orgId} and id = ${copy.versionIds[0] ?? ''}`
      await use(org, name, [PASS], bodies.length === 1 ? {} : { at: daysAgo(-1) })
    }
    t.match(await score(skill, daysAgo(-2)), { score: null })
    const { org, name } = await install(skill)
    await use(org, name, [PASS], { at: daysAgo(-1) })
    t.match(await score(skill, daysAgo(-2)), { live: 0.4385 })
  })

  t.test('a rating counts that tells where it comes from, by its own value', async (t) => {
    const { owner, name, skill } = await setup(['a', 'b', 'c'])
    const [traceId = '', other = '', third = ''] = await use(owner, name, [null, null, null])
    const [first, before, current] = skill.versionIds
    const refused: Rating[] = [
      { traceId, versionId: first },
      { traceId, versionId: current, source: 'custom' },
      { traceId, versionId: current, metadata: { prompt_sha256: hashOf('another prompt') } },
      { traceId, versionId: current, metadata: { trace_hash: hashOf('another trace') } },
      { traceId, versionId: current, metadata: { rater_version: null } },
      { traceId, versionId: current, metadata: { rated_at: '' } },
    ]
    for (const [i, rating] of refused.entries())
      await rate(owner, { ...rating, identifier: `${i}` })
    t.match(await score(skill), { rating_count: 0, rating: null, avg_rating: null })
    await rate(owner, { traceId, versionId: current, value: 0.75 })
    await rate(owner, { traceId: other, versionId: before, value: 0.25, source: 'human' })
    t.match(await score(skill), { rating_count: 2, avg_rating: 0.5, rating: 0.0945 })
    const [trace] = await sql<{ hash: string }[]>`
      select upper('sha256:' || encode(content_hash, 'hex')) as hash from traces
      where org_id = ${owner.orgId} and trace_id = ${third}`
    const prompt_sha256 = `sha256:${SKILL_RATER_CONFIG.prompt_sha256}`
    const metadata = { prompt_sha256, trace_hash: trace?.hash ?? '' }
    await rate(owner, { traceId: third, versionId: current, value: 0.5, metadata })
    t.match(await score(skill), { rating_count: 3, avg_rating: 0.5 })
  })

  t.test('of one model and trace the newest rating counts', async (t) => {
    const { owner, name, skill } = await setup()
    const [traceId = ''] = await use(owner, name, [null])
    const rating = { traceId, versionId: skill.versionIds[0] }
    await rate(owner, { ...rating, value: 0, identifier: 'one' })
    await rate(owner, { ...rating, value: 1, identifier: 'two' })
    t.match(await score(skill), { rating_count: 1, avg_rating: 1 })
    await rate(owner, { ...rating, value: 0.5, identifier: 'one' })
    t.match(await score(skill), { rating_count: 1, avg_rating: 0.5 })
    const metadata = { rater_model: 'model-b' }
    await rate(owner, { ...rating, value: 1, identifier: 'b', metadata })
    t.match(await score(skill), { rating_count: 2, avg_rating: 0.75 })
  })

  t.test('ratings of others count when three organizations have some', async (t) => {
    const { skill } = await setup()
    const rateCopy = async () => {
      const { org, name, skill: copy } = await install(skill)
      const [traceId = ''] = await use(org, name, [null])
      await rate(org, { traceId, versionId: copy.versionIds[0] })
    }
    for (let i = 0; i < 2; i++) await rateCopy()
    t.match(await score(skill), { rating_count: 0 })
    await rateCopy()
    t.match(await score(skill), { rating_count: 3, avg_rating: 1 })
  })

  t.test('what was read earlier, or of a version of before, is not shown', async (t) => {
    const { owner, name, skill } = await setup(['a', 'b'])
    const before = (await score(skill)) as RegistryScore
    await use(owner, name, [PASS], { hash: hashOf('b') })
    t.match(await score(skill), { score: 0.2065 })
    t.match(await score(skill, daysAgo(0.5)), { score: 0.2065 })
    const [versionId = ''] = skill.versionIds
    await updateScore(sql, skill.id, { versionId, at: daysAgo(-1) }, before)
    t.match(await shown(skill), { score: 0.2065 })
  })

  t.test('a skill that is public no more has none', async (t) => {
    const { skill } = await setup()
    await sql`delete from registry_skills where skill_id = ${skill.id}`
    t.equal(await score(skill), undefined)
  })

  t.test('the traces of a period that is dropped count no more', async (t) => {
    const { owner, name, skill } = await setup()
    const hash = hashOf('a')
    const [period = ''] = await makePeriodsAt(sql, '2025-03-15')
    await storingIn(sql, period, () => use(owner, name, [FAIL], { hash }))
    await use(owner, name, [PASS], { hash })
    t.match(await score(skill), { avg_pass_rate: 0.5 })
    await sql.begin((tx: Transaction) => dropPeriod(tx, period))
    t.match(await score(skill), { avg_pass_rate: 1 })
  })
})
