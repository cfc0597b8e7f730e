import t from 'tap'
import { order } from '../../../jobs/rules/core/order.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { diffRows } from '../../../sql/datasets/version-diff.ts'
import fc from '../../support/property.ts'
import { openService } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'

const SPLITS = ['train', 'validation', 'test'] as const

t.test('rows are compared by trace and text, however many a trace has', async (t) => {
  const { sql, makeOrganization } = await openService(t)
  const row = fc.record({
    trace: fc.integer({ min: 0, max: 40 }),
    text: fc.integer({ max: 3, min: 0 }),
  })
  const rows = fc.array(row, { maxLength: 120 })
  // Ids of another organization, too: it has the same traces.
  const [org, other] = [await makeOrganization(), await makeOrganization()]
  await storeRows(sql, other, [{ trace: 1, text: 1 }])
  await fc.assert(
    fc.asyncProperty(rows, rows, fc.boolean(), async (from, to, moved) => {
      await sql`delete from datasets where org_id = ${org.orgId}`
      const stored = [await storeRows(sql, org, from), await storeRows(sql, org, to, moved ? 1 : 0)]
      const [first = '', second = ''] = stored
      const found = await diffRows(sql, org.orgId, { from: first, to: second })
      t.same(found, expected(from, to, moved ? 1 : 0))
    }),
    { numRuns: 40 },
  )
})

async function storeRows(
  sql: Sql,
  org: { orgId: string; projectId: string },
  rows: readonly Made[],
  shift = 0,
) {
  const version = await storeVersion(sql, org, rows.length)
  await sql`
    update datasets set name = id::text where org_id = ${org.orgId}`
  await sql`
    insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
      score_fingerprint, split, shard, byte_offset, byte_length)
    select ${org.orgId}, ${version}, ordinal, 'trace ' || trace, sha256(text::text::bytea), '',
      (${[...SPLITS]}::text[])[1 + (trace + ${shift}::int) % 3], 0, 0, 1
    from unnest(${rows.map(({ trace }) => trace)}::int[], ${rows.map(({ text }) => text)}::int[])
      with ordinality as r (trace, text, ordinal)`
  return version
}

/** The same, trace by trace. */
function expected(from: readonly Made[], to: readonly Made[], shift: number) {
  const traces = [...new Set([...from, ...to].map(({ trace }) => trace))].map((trace) => {
    const [old, now] = [from, to].map((rows) => rows.filter((row) => row.trace === trace))
    const count = (rows: readonly Made[] = [], text: number) =>
      rows.filter((row) => row.text === text).length
    const same = [0, 1, 2, 3].map((text) => Math.min(count(old, text), count(now, text)))
    return {
      trace_id: `trace ${trace}`,
      split_from: old?.length ? (SPLITS[trace % 3] ?? null) : null,
      split_to: now?.length ? (SPLITS[(trace + shift) % 3] ?? null) : null,
      rows_from: old?.length ?? 0,
      rows_to: now?.length ?? 0,
      rows_unchanged: same.reduce((sum, n) => sum + n, 0),
    }
  })
  const both = traces.filter(({ rows_from: a, rows_to: b }) => a > 0 && b > 0)
  const isWhole = (trace: (typeof traces)[number]) =>
    trace.rows_unchanged === trace.rows_from && trace.rows_unchanged === trace.rows_to
  const changed = both.filter((trace) => !isWhole(trace))
  const added = traces.filter(({ rows_from: rows }) => rows === 0)
  const removed = traces.filter(({ rows_to: rows }) => rows === 0)
  const sum = (all: typeof traces, rows: (trace: (typeof traces)[number]) => number) =>
    all.reduce((total, trace) => total + rows(trace), 0)
  const samples = (all: typeof traces) =>
    all.toSorted((a, b) => order(a.trace_id, b.trace_id)).slice(0, 20)
  return {
    added: { count: sum(added, (trace) => trace.rows_to), samples: samples(added) },
    removed: { count: sum(removed, (trace) => trace.rows_from), samples: samples(removed) },
    unchanged: {
      count: sum(traces, (trace) => trace.rows_unchanged),
      samples: samples(traces.filter(isWhole)),
    },
    changed: {
      count: changed.length,
      rows_from: sum(changed, (trace) => trace.rows_from - trace.rows_unchanged),
      rows_to: sum(changed, (trace) => trace.rows_to - trace.rows_unchanged),
      samples: samples(changed),
    },
    split_moves: shift === 0 ? 0 : both.length,
  }
}

interface Made {
  readonly trace: number
  readonly text: number
}
