import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { countCases } from '../../../jobs/rules/skills/benchmark-run.ts'
import type { ArmOutcome, BenchmarkCase } from '../../../jobs/rules/skills/benchmark-run.ts'
import { scoreSkill } from '../../../jobs/score-skill.ts'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { updateScore } from '../../../sql/skills/registry-scores.ts'
import type { RegistryScore } from '../../../sql/skills/registry-scores.ts'
import { markScoresDue } from '../../../sql/skills/scores-due.ts'
import { storeBenchmark } from '../../../sql/skills/skill-benchmarks.ts'
import { dropPeriod } from '../../../sql/transactions/drop-period.ts'
import { scoreSkillHandler } from '../../../workers/skills/score-skill.ts'
import { sweepSkillsHandler } from '../../../workers/skills/sweep-skills.ts'
import { makePeriodsAt, storingIn } from '../../support/periods.ts'
import { makeSkill, publishSkill } from '../../support/registry.ts'
import type { MadeSkill, MadeVersion } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'
import { storeRating, storeUses } from '../../support/skill-evidence.ts'
import type { Rating } from '../../support/skill-evidence.ts'
import { until } from '../../support/until.ts'

const DAY_MS = 86_400_000
const [PASS, REVIEW, FAIL] = [1, 0.5, 0]
const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value)
const hashOf = (body: string) => hashBody(body).toString('hex')
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)

t.test('scores of public skills', async (t) => {
  const service = await openService(t)
  const { sql } = service
  type Org = Awaited<ReturnType<typeof service.makeOrganization>>

  /** A public skill with versions of bodies `a`, `b` and so on, the newest of which is public. */
  async function setup(bodies = ['a']) {
    const owner = await service.makeOrganization()
    const name = `skill-${randomUUIDv7().slice(-12)}`
    const versions = bodies.map((body): MadeVersion => ({ body }))
    const skill = await makeSkill(sql, owner.orgId, { name }, versions)
    await publishSkill(sql, skill)
    return { owner, name, skill }
  }
  /** An organization that installed a skill, with these bodies as its versions. */
  async function install(source: MadeSkill, bodies = ['a']) {
    const org = await service.makeOrganization()
    const name = `copy-${randomUUIDv7().slice(-12)}`
    const versions = bodies.map((body) => ({ body }))
    const skill = await makeSkill(sql, org.orgId, { name, forkOf: source }, versions)
    await sql`
      insert into registry_installs (skill_id, org_id, fork_skill_id)
      values (${source.id}, ${org.orgId}, ${skill.id})`
    return { org, name, skill }
  }
  const use = (
    org: Org,
    name: string,
    qualities: readonly (number | null)[],
    more: { hash?: string; at?: Date } = {},
  ) => storeUses(sql, org, { name, ...more }, qualities)
  const rate = (org: Org, rating: Rating) => storeRating(sql, org, rating)
  /** Stores a run of cases `[with, without]`. */
  const benchmark = (
    org: { orgId: string; keyId: string },
    { id: skill_id, versionIds }: MadeSkill,
    cases: readonly (readonly [ArmOutcome, ArmOutcome])[],
    more: { version?: number; suite?: string; at?: Date; tokens?: BenchmarkCase['tokens'] } = {},
  ) =>
    sql.begin((tx) =>
      storeBenchmark(tx, org.orgId, {
        id: randomUUIDv7(),
        skill_id,
        version_id: versionIds[(more.version ?? versionIds.length) - 1] ?? '',
        suite: more.suite ?? 'suite',
        suite_sha256: hashBody(more.suite ?? 'suite'),
        runner: randomUUIDv7(),
        run_at: more.at ?? new Date(),
        ...countCases(
          cases.map(([with_, without], i) => ({
            case_id: `${i}`,
            with: with_,
            without,
            tokens: more.tokens,
          })),
        ),
        created_by_key_id: org.keyId,
      }),
    )
  const shown = async ({ id }: MadeSkill) => {
    const [row] = await sql`
      select tier, score::float8, bench::float8, live::float8, rating::float8, rating_count,
        avg_rating::float8, avg_pass_rate::float8, lift::float8, token_saving::float8, benchmark,
        scored_at, evidence_at
      from registry_skills where skill_id = ${id}`
    return row
  }
  async function score(skill: MadeSkill, at = new Date()) {
    await scoreSkillHandler.work({ skill_id: skill.id }, { sql, now: () => at } as never)
    return shown(skill)
  }

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
    await rate(owner, { traceId: third, versionId: current, value: 0.5 })
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

t.test('the sweep', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { queue } = context
  const sweep = (at = new Date()) =>
    queue.transaction(sql, (tx: Transaction) =>
      sweepSkillsHandler.work({}, { ...context, now: () => at } as never, tx),
    )
  const requested = async () => {
    const rows = await sql<{ id: string }[]>`
      select data->'payload'->>'skill_id' as id from pgboss.job
      where name = ${scoreSkill.name} and state = 'created' order by priority desc`
    return rows.map(({ id }) => id)
  }
  const { orgId } = await service.makeOrganization()
  const upstream = await makeSkill(sql, orgId, { name: 'upstream' })
  await publishSkill(sql, upstream)
  const copier = await service.makeOrganization()
  await makeSkill(sql, copier.orgId, { name: 'copy', forkOf: upstream })

  t.test('has skills scored that were never, and a day later again', async (t) => {
    await sweep()
    await sweep()
    t.same(await requested(), [upstream.id])
    const worker = await service.startWorkers([scoreSkillHandler])
    const scored = await until(async () => {
      const [row] = await sql<{ at: Date | null }[]>`
        select scored_at as at from registry_skills where skill_id = ${upstream.id}`
      return row?.at
    })
    await worker.stop()
    await sweep()
    t.same(await requested(), [])
    await sweep(new Date(scored.getTime() + DAY_MS + 1))
    t.same(await requested(), [upstream.id])
    await service.boss.deleteQueuedJobs(scoreSkill.name)
  })

  t.test('has skills scored of which evidence came, their own or of a copy', async (t) => {
    const mark = (orgId: string, name: string) =>
      sql.begin((tx) => markScoresDue(tx, orgId, [name, name]))
    for (const [owner, name] of [
      [orgId, 'upstream'],
      [copier.orgId, 'copy'],
    ] as const) {
      await mark(owner, name)
      await sweep()
      t.same(await requested(), [upstream.id])
      await service.boss.deleteQueuedJobs(scoreSkill.name)
      await sweep()
      t.same(await requested(), [])
    }
    await mark(copier.orgId, 'unknown')
    await sweep()
    t.same(await requested(), [])
    t.same(await sql`select from skill_scores_due`, [])
  })

  t.test('leaves what is being noted for the next one', async (t) => {
    await sql.begin((tx) => markScoresDue(tx, orgId, ['upstream']))
    await sql.begin(async (tx) => {
      await markScoresDue(tx, orgId, ['upstream'])
      await sweep()
      t.same(await requested(), [])
    })
    await sweep()
    t.same(await requested(), [upstream.id])
  })
})
