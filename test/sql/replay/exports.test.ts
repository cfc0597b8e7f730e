import t from 'tap'
import { listExportedSessions } from '../../../sql/replay/exports.ts'
import { openTestDatabase } from '../../support/database.ts'
import fc from '../../support/property.ts'
import { makeOrganization } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

t.test('sessions are those of the newest traces, however few are read first', async (t) => {
  const { sql } = await openTestDatabase(t)
  const { orgId, projectId, workspaceId } = await makeOrganization(sql, 'enterprise')
  await sql`
    insert into projects (org_id, id, workspace_id, name)
    values (${orgId}, ${OTHER_PROJECT}, ${workspaceId}, 'other')`
  const traces = fc
    .sample(fc.array(fc.nat(), { minLength: 5, maxLength: 5 }), 80)
    .map((numbers, n) => makeTrace(n, numbers))
  const projects = [projectId, OTHER_PROJECT]
  for (const [n, project] of projects.entries()) {
    await storeJudged(
      sql,
      { orgId, projectId: project },
      traces.filter((each) => each.project === n),
    )
  }

  const filters = fc.record({
    projectIds: fc.constantFrom(null, projects, [projectId]),
    agent_name: fc.constantFrom(undefined, 'ann'),
    verdict: fc.constantFrom('keep' as const, 'drop' as const, 'replay' as const),
  })
  const limits = fc.integer({ min: 1, max: 12 })
  const probed = fc.constantFrom(1, 3, 10, 100)
  await fc.assert(
    fc.asyncProperty(filters, limits, probed, async (filter, limit, probed) => {
      const listed = await listExportedSessions(sql, orgId, filter, limit, probed)
      const newest = new Map<string, object>()
      for (const trace of traces.toSorted(byAge)) {
        const project_id = projects[trace.project] as string
        const { session_id, agent_name } = trace
        const isListed =
          trace.verdict === filter.verdict &&
          (filter.projectIds?.includes(project_id) ?? true) &&
          (filter.agent_name === undefined || agent_name === filter.agent_name)
        const name = `${project_id} ${session_id}`
        if (isListed && session_id !== null && !newest.has(name)) {
          newest.set(name, { project_id, session_id, agent_name })
        }
      }
      const expected = [...newest.values()].slice(0, limit)
      t.same(listed, expected, JSON.stringify({ filter, limit, probed }))
    }),
    { numRuns: 100 },
  )
})

/** No two start at one time, so that the order is plain. */
function makeTrace(n: number, numbers: readonly number[]) {
  const pick = <T>(at: number, values: readonly T[]) =>
    values[(numbers[at] ?? 0) % values.length] as T
  return {
    trace_id: `trace ${n}`,
    project: pick(0, [0, 0, 0, 1]),
    session_id: pick(1, [null, 'a', 'b', 'c', 'd', 'e', 'f']),
    agent_name: pick(2, ['ann', 'bob']),
    verdict: pick(3, ['keep', 'keep', 'drop'] as const),
    started_at: new Date(Date.UTC(2026, 0, 1) + ((n * 37) % 80) * 1000).toISOString(),
  }
}
type Made = ReturnType<typeof makeTrace>

function byAge(a: Made, b: Made) {
  return b.started_at.localeCompare(a.started_at)
}

const OTHER_PROJECT = '0198c0de-0000-7000-8000-000000000002'
