import type { Area } from '../endpoint.ts'
import { activateManifest } from './activate-manifest.ts'
import { diffManifests } from './diff-manifests.ts'
import { listAgents } from './list-agents.ts'
import { listEpisodes } from './list-episodes.ts'
import { listManifests } from './list-manifests.ts'
import { listReports } from './list-reports.ts'
import { listViolations } from './list-violations.ts'
import { registerManifest } from './register-manifest.ts'
import { runCompatibility } from './run-compatibility.ts'
import { showAgent } from './show-agent.ts'
import { showAgentTopology } from './show-agent-topology.ts'
import { showCompatSummary } from './show-compat-summary.ts'
import { showImpactReport } from './show-impact-report.ts'
import { showManifest } from './show-manifest.ts'
import { showReport } from './show-report.ts'
import { showTopology } from './show-topology.ts'

export const manifests: Area = {
  manifests: [
    registerManifest,
    listManifests,
    showManifest,
    diffManifests,
    activateManifest,
    runCompatibility,
    listReports,
    showReport,
    listEpisodes,
  ],
  agents: [
    listAgents,
    showTopology,
    showAgent,
    showAgentTopology,
    showImpactReport,
    showCompatSummary,
  ],
  'contract-violations': [listViolations],
}
