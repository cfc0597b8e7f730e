import type { Area } from '../endpoint.ts'
import { applySuggestion } from './apply-suggestion.ts'
import { assignSkill } from './assign-skill.ts'
import { attachFile } from './attach-file.ts'
import { attachFiles } from './attach-files.ts'
import { compareVersions } from './compare-versions.ts'
import { createSkill } from './create-skill.ts'
import { deleteAttachment } from './delete-attachment.ts'
import { deleteSkill } from './delete-skill.ts'
import { forkSkill } from './fork-skill.ts'
import { importBenchmark } from './import-benchmark.ts'
import { installPublicSkill } from './install-public-skill.ts'
import { listAttachments } from './list-attachments.ts'
import { listBenchmarks } from './list-benchmarks.ts'
import { listHashes } from './list-hashes.ts'
import { listRegistryAttachments } from './list-registry-attachments.ts'
import { listSkillVersions } from './list-skill-versions.ts'
import { listSkills } from './list-skills.ts'
import { listSubscriptions } from './list-subscriptions.ts'
import { mergeUpstream } from './merge-upstream.ts'
import { publishSkill } from './publish-skill.ts'
import { recordBenchmark } from './record-benchmark.ts'
import { reportInstalls } from './report-installs.ts'
import { resolvePublicSkills } from './resolve-public-skills.ts'
import { resolveSkills } from './resolve-skills.ts'
import { routeSkills } from './route-skills.ts'
import { runBenchmark } from './run-benchmark.ts'
import { runChecks } from './run-checks.ts'
import { searchRegistry } from './search-registry.ts'
import { showAttachment } from './show-attachment.ts'
import { showBody } from './show-body.ts'
import { showLeaderboard } from './show-leaderboard.ts'
import { showMenu } from './show-menu.ts'
import { showMetrics } from './show-metrics.ts'
import { showRegistryAttachment } from './show-registry-attachment.ts'
import { showRegistryEval } from './show-registry-eval.ts'
import { showRegistryLeaderboard } from './show-registry-leaderboard.ts'
import { showRegistrySkill } from './show-registry-skill.ts'
import { showSkillFile } from './show-skill-file.ts'
import { showSkillVersion } from './show-skill-version.ts'
import { showSkill } from './show-skill.ts'
import { syncSkills } from './sync-skills.ts'
import { unassignSkill } from './unassign-skill.ts'
import { unpublishSkill } from './unpublish-skill.ts'
import { updateSkill } from './update-skill.ts'
import { usePublicSkill } from './use-public-skill.ts'

export const skills: Area = {
  skills: [
    createSkill,
    listSkills,
    showSkill,
    updateSkill,
    deleteSkill,
    syncSkills,
    listHashes,
    reportInstalls,
    listSkillVersions,
    showSkillVersion,
    showBody,
    applySuggestion,
    forkSkill,
    mergeUpstream,
    publishSkill,
    unpublishSkill,
    runChecks,
    recordBenchmark,
    listBenchmarks,
    importBenchmark,
    runBenchmark,
    showMetrics,
    compareVersions,
    showLeaderboard,
    showMenu,
    routeSkills,
    listAttachments,
    attachFile,
    attachFiles,
    showAttachment,
    deleteAttachment,
    assignSkill,
    unassignSkill,
    listSubscriptions,
  ],
  registry: [
    searchRegistry,
    showRegistryLeaderboard,
    showRegistrySkill,
    listRegistryAttachments,
    showRegistryAttachment,
    showRegistryEval,
    installPublicSkill,
    usePublicSkill,
    resolveSkills,
    resolvePublicSkills,
    showSkillFile,
    installPublicSkill,
    usePublicSkill,
  ],
}
