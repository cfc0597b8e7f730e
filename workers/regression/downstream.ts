import { readPin } from '../../jobs/rules/manifests/contract.ts'
import { readHash } from '../../jobs/rules/manifests/manifest-hash.ts'
import type { DownstreamImpact } from '../../jobs/rules/regression/check-findings.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import type { Sql } from '../../sql/core/db.ts'
import { listComponentsElsewhere } from '../../sql/manifests/downstream.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests/manifests.ts'
import type { WalkedTraces } from '../../jobs/rules/regression/walked-traces.ts'

/** Finds what else depends on what a candidate changes. */
export async function findDownstream(
  sql: Sql,
  agent: AgentKey,
  { candidate, changes, walked }: Change,
): Promise<DownstreamImpact> {
  const datasets = Object.values(walked.datasets)
  const { evaluators } = walked
  return {
    evaluators: {
      stale_count: evaluators.length,
      sample_evaluator_names: evaluators.slice(0, SAMPLES),
      surfaces_causing_staleness: evaluators.length > 0 ? scoredSurfaces(walked) : [],
    },
    datasets: {
      affected_dataset_version_count: datasets.length,
      sample_dataset_names: datasets
        .map(({ name }) => name)
        .sort()
        .slice(0, SAMPLES),
      total_rows_invalidated: datasets.reduce((sum, { rows }) => sum + rows, 0),
    },
    subagents: {
      broken_handoffs: [
        ...ownHandoffs(changes, walked),
        ...(await handoffsToAgent(sql, agent, candidate)),
      ],
    },
    skills: await findSkillUsers(sql, agent, changes),
  }
}

/** The changed surfaces that traces with scores use. */
function scoredSurfaces({ tallies: { passing, failing } }: WalkedTraces) {
  return [...new Set([...Object.keys(passing.surfaces), ...Object.keys(failing.surfaces)])].sort()
}

/** Sub-agents that the candidate changes or removes, and to which recorded traces handed work. */
function ownHandoffs(changes: readonly SurfaceChange[], { tallies }: WalkedTraces) {
  return changes
    .filter(({ component_type, breaking }) => component_type === 'subagent' && breaking)
    .filter(({ surface }) => tallies.all.surfaces[surface])
    .map(({ component_name, change_type, details }) => ({
      subagent_name: component_name,
      surface_diff: { change_type, details },
    }))
}

/** Agents whose active version pins this agent to another version than the candidate. */
async function handoffsToAgent(sql: Sql, agent: AgentKey, candidate: ManifestRow) {
  const pinned = await listComponentsElsewhere(sql, agent, 'subagent', [agent.agentName])
  return pinned.flatMap((component) => {
    const pin = readPin(component)
    const expected = pin === null ? undefined : readHash(pin)
    if (expected === undefined || expected === candidate.manifest_hash) return []
    const orchestrator = component.agent_name
    const hashes = { expected_hash: expected, candidate_hash: candidate.manifest_hash }
    const surface_diff = { change_type: 'subagent_changed', orchestrator, ...hashes }
    return [{ subagent_name: agent.agentName, surface_diff }]
  })
}

async function findSkillUsers(sql: Sql, agent: AgentKey, changes: readonly SurfaceChange[]) {
  const skills_changed = changes
    .filter(({ component_type, state }) => component_type === 'skill' && BROKEN.has(state))
    .map(({ component_name }) => component_name)
  const used = await listComponentsElsewhere(sql, agent, 'skill', skills_changed)
  const agents = [...new Set(used.map(({ agent_name }) => agent_name))]
  return {
    affected_agent_count: agents.length,
    sample_agent_names: agents.slice(0, SAMPLES),
    skills_changed,
  }
}

const BROKEN: ReadonlySet<SurfaceChange['state']> = new Set(['changed', 'removed'])
const SAMPLES = 10

interface Change {
  readonly candidate: ManifestRow
  readonly changes: readonly SurfaceChange[]
  readonly walked: WalkedTraces
}
