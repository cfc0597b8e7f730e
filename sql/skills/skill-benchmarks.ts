import type { BenchmarkCounts } from '../../jobs/rules/skills/benchmark-run.ts'
import { onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'

/** Cases that were run with a skill and without it. */
export interface BenchmarkRow extends BenchmarkCounts {
  id: string
  version_id: string
  version_number: number
  suite: string
  /** SHA-256 that identifies the cases of the suite. */
  suite_sha256: Buffer
  /** What ran them. */
  runner: string
  run_at: Date
  created_at: Date
}

export type NewBenchmark = Omit<BenchmarkRow, 'version_number' | 'created_at'> & {
  readonly skill_id: string
  readonly created_by_key_id: string
}

/**
 * Stores a run, unless the same suite was run over the version by the same runner at the same time: that
 * is the same run, told again. Returns what is stored, and whether it is new.
 */
export async function storeBenchmark(tx: Transaction, orgId: string, benchmark: NewBenchmark) {
  const row = { ...benchmark, org_id: orgId }
  const inserted = await tx`
    insert into skill_benchmarks ${tx(row)}
    on conflict (org_id, version_id, suite_sha256, runner, run_at) do nothing`
  const stored = await tx<BenchmarkRow[]>`
    select ${columns(tx)} from ${withVersions(tx)}
    where b.org_id = ${orgId} and b.version_id = ${benchmark.version_id}
      and b.suite_sha256 = ${benchmark.suite_sha256} and b.runner = ${benchmark.runner}
      and b.run_at = ${benchmark.run_at}`
  return { benchmark: onlyRow(stored), isNew: inserted.count === 1 }
}

/** The runs over all versions of a skill, the newest first. */
export async function listBenchmarks(
  sql: Queryable,
  orgId: string,
  skillId: string,
  page: { before?: AgeKey | undefined; limit: number; offset: number },
) {
  return sql<BenchmarkRow[]>`
    select ${columns(sql)} from ${withVersions(sql)}
    where b.org_id = ${orgId} and b.skill_id = ${skillId}
      ${isOlder(sql, sql`(b.run_at, b.id)`, page.before)}
    order by b.run_at desc, b.id desc limit ${page.limit} offset ${page.offset}`
}

/** How many there are, counted no further than `limit`. */
export async function countBenchmarks(
  sql: Queryable,
  orgId: string,
  skillId: string,
  limit: number,
) {
  return countUpTo(
    sql,
    limit,
    sql`skill_benchmarks where org_id = ${orgId} and skill_id = ${skillId}`,
  )
}

function withVersions(sql: Queryable) {
  return sql`skill_benchmarks b
    join skill_versions v on v.org_id = b.org_id and v.id = b.version_id`
}

function columns(sql: Queryable) {
  return sql`b.id, b.version_id, v.version_number, b.suite, b.suite_sha256, b.runner, b.run_at, b.cases,
    b.errored, b.compared, b.passed_with, b.passed_without, b.flipped_to_fail, b.tokens_with,
    b.tokens_without, b.turns_with, b.turns_without, b.voided, b.created_at`
}
