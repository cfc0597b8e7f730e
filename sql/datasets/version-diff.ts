import type { Split } from '../../jobs/rules/datasets/recipe.ts'
import type { Sql, Transaction } from '../core/db.ts'
import { onlyRow, withSettings } from '../core/db.ts'
import { COLLECTING } from '../core/pages.ts'

/**
 * What the rows of two versions are to each other. Rows are the same when trace and text are. So the rows
 * of the first version are unchanged, removed or of changed traces, and those of the second one unchanged,
 * added or of changed traces.
 */
export interface VersionDiff {
  /** Rows of traces that only the second version has. */
  added: DiffPart
  /** Rows of traces that only the first version has. */
  removed: DiffPart
  /** Rows of both versions. */
  unchanged: DiffPart
  /** Traces of both versions, some of whose rows only one version has: so many of the first and the second. */
  changed: DiffPart & { rows_from: number; rows_to: number }
  /** Traces that are in another split in the second version. */
  split_moves: number
}

interface DiffPart {
  count: number
  /** By trace id, `MAX_SAMPLES` at most. */
  samples: DiffSample[]
}

/** A trace in two versions. */
export interface DiffSample {
  trace_id: string
  /** Null for a version that has no row of it. */
  split_from: Split | null
  split_to: Split | null
  rows_from: number
  rows_to: number
  rows_unchanged: number
}

/**
 * Compares the row lists of two versions in one pass over both, sorted, which keeps on disk what does not
 * fit into `work_mem`.
 */
export async function diffRows(
  sql: Sql,
  orgId: string,
  { from, to }: { from: string; to: string },
): Promise<VersionDiff> {
  return onlyRow(
    await withSettings(
      sql,
      SORTED,
      (tx) => tx<VersionDiff[]>`
        with compared as (
          select trace_id, (count(*) filter (where is_old))::int as n_from,
            (count(*) filter (where not is_old))::int as n_to,
            min(split) filter (where is_old) as split_from,
            min(split) filter (where not is_old) as split_to
          from (
            select trace_id collate "C" as trace_id, row_hash, split, true as is_old
            from dataset_version_rows
            where org_id = ${orgId} and version_id = ${from}
            union all
            select trace_id collate "C", row_hash, split, false
            from dataset_version_rows
            where org_id = ${orgId} and version_id = ${to}) r
          group by trace_id, row_hash
        ), traces as materialized (
          select trace_id, sum(n_from)::int as rows_from, sum(n_to)::int as rows_to,
            sum(least(n_from, n_to))::int as rows_unchanged,
            min(split_from) as split_from, min(split_to) as split_to
          from compared group by trace_id
        )
        select json_build_object('count', coalesce(sum(rows_to) filter (where ${IS.added(tx)}), 0),
            'samples', ${samples(tx, 'added')}) as added,
          json_build_object('count', coalesce(sum(rows_from) filter (where ${IS.removed(tx)}), 0),
            'samples', ${samples(tx, 'removed')}) as removed,
          json_build_object('count', coalesce(sum(rows_unchanged), 0),
            'samples', ${samples(tx, 'unchanged')}) as unchanged,
          json_build_object('count', count(*) filter (where ${IS.changed(tx)}),
            'rows_from', coalesce(sum(rows_from - rows_unchanged) filter (where ${IS.changed(tx)}), 0),
            'rows_to', coalesce(sum(rows_to - rows_unchanged) filter (where ${IS.changed(tx)}), 0),
            'samples', ${samples(tx, 'changed')}) as changed,
          (count(*) filter (where split_from <> split_to))::int8 as split_moves
        from traces`,
    ),
  )
}

function samples(tx: Transaction, part: keyof typeof IS) {
  return tx`(
    select coalesce(json_agg(s order by trace_id), '[]') from (
      select trace_id, split_from, split_to, rows_from, rows_to, rows_unchanged from traces
      where ${IS[part](tx)} order by trace_id limit ${MAX_SAMPLES}) s)`
}

/** The conditions of a trace. */
const IS = {
  added: (tx: Transaction) => tx`rows_from = 0`,
  removed: (tx: Transaction) => tx`rows_to = 0`,
  unchanged: (tx: Transaction) => tx`rows_unchanged = greatest(rows_from, rows_to)`,
  changed: (tx: Transaction) =>
    tx`rows_from > 0 and rows_to > 0 and rows_unchanged < greatest(rows_from, rows_to)`,
}
/**
 * Settings to read the rows of a version in the order of the table, and to sort them once for both groupings,
 * which takes less time and memory than two tables of hashes. The index by trace would spare the sort, and
 * read a page of the table for every row.
 */
const SORTED = {
  ...COLLECTING,
  enable_hashagg: 'off',
  enable_incremental_sort: 'off',
  work_mem: '64MB',
}
const MAX_SAMPLES = 20
