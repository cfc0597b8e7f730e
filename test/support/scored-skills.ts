import { randomUUIDv7 } from 'node:crypto'
import type { Test } from 'tap'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { countCases } from '../../jobs/rules/skills/benchmark-run.ts'
import type { ArmOutcome, BenchmarkCase } from '../../jobs/rules/skills/benchmark-run.ts'
import { hashBody } from '../../jobs/rules/skills/skill.ts'
import { storeBenchmark } from '../../sql/skills/skill-benchmarks.ts'
import { scoreSkillHandler } from '../../workers/skills/score-skill.ts'
import { makeSkill, publishSkill } from './registry.ts'
import type { MadeSkill, MadeVersion } from './registry.ts'
import { openService } from './service.ts'
import { storeRating, storeUses } from './skill-evidence.ts'
import type { Rating } from './skill-evidence.ts'

export const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value)
export const hashOf = (body: string) => hashBody(body).toString('hex')
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)

/** A service in which skills are published, installed, used, rated, measured and then scored. */
export async function openScores(t: Test) {
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
  return { service, sql, setup, install, use, rate, benchmark, shown, score }
}
