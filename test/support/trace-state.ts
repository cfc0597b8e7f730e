import type { Sql } from '../../sql/core/db.ts'

/**
 * All that is stored of the traces of an organization, table by table: what they say and everything that
 * was found in them. Without what differs each time: ids that are made, and times of storing.
 * @param labels what ids of the organization are called, so that those of two can be compared
 */
export async function traceState(
  sql: Sql,
  orgId: string,
  labels: Readonly<Record<string, string>>,
) {
  const state: Record<string, unknown[]> = {}
  for (const [table, { without, from = table }] of Object.entries(TABLES)) {
    const rows = await sql<{ row: string }[]>`
      select (to_jsonb(r) - ${[...OWNERS, ...without]}::text[])::text as row
      from ${sql.unsafe(from)} r where org_id = ${orgId}`
    state[table] = rows
      .map(({ row }) => JSON.stringify(JSON.parse(relabelled(row, labels), rounded)))
      .sort()
      .map((row) => JSON.parse(row))
  }
  return state
}

function relabelled(text: string, labels: Readonly<Record<string, string>>) {
  return text.replace(UUID, (id) => labels[id] ?? id)
}

/** The last digits of a sum depend on the order in which it was added up. */
function rounded(_key: string, value: unknown) {
  return typeof value === 'number' ? Number(value.toPrecision(12)) : value
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const OWNERS = ['org_id', 'project_id']
const TABLES: Readonly<Record<string, { without: readonly string[]; from?: string }>> = {
  traces: { without: ['created_at', 'revision'] },
  eval_scores: { without: ['score_id', 'created_at', 'updated_at'] },
  verdicts: { without: ['decided_at'] },
  annotations: { without: ['id', 'created_by', 'created_at'] },
  trace_search: { without: [] },
  agent_edges: { without: [] },
  trace_examinations: { without: ['examined_at'] },
  contract_violations: { without: ['id', 'detected_at'] },
  trace_skills: { without: [] },
  trace_revisions: { without: ['created_at'] },
  manifests: { without: ['created_by', 'created_at'] },
  score_cells: { without: ['id', 'computed_at'] },
  // The hashes of tasks and units depend on the project.
  score_cell_clusters: {
    without: [],
    from: `(select org_id, agent_name, day, name, verdict, k.n, k.sum from score_cell_clusters k
      join score_cells c using (org_id) where c.id = k.cell_id)`,
  },
  score_cells_dirty: { without: ['id'] },
}
