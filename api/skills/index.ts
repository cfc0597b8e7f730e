import type { Area } from '../endpoint.ts'
import { applySuggestion } from './apply-suggestion.ts'
import { assignSkill } from './assign-skill.ts'
import { attachFile } from './attach-file.ts'
import { attachFiles } from './attach-files.ts'
import { createSkill } from './create-skill.ts'
import { deleteAttachment } from './delete-attachment.ts'
import { deleteSkill } from './delete-skill.ts'
import { forkSkill } from './fork-skill.ts'
import { installPublicSkill } from './install-public-skill.ts'
import { importBenchmark } from './import-benchmark.ts'
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
import { showRegistryAttachment } from './show-registry-attachment.ts'
import { showRegistryEval } from './show-registry-eval.ts'
import { showRegistrySkill } from './show-registry-skill.ts'
import { showSkill } from './show-skill.ts'
import { showSkillFile } from './show-skill-file.ts'
import { showSkillVersion } from './show-skill-version.ts'
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
    showLeaderboard,
    showRegistrySkill,
    listRegistryAttachments,
    showRegistryAttachment,
    showRegistryEval,
    resolveSkills,
    resolvePublicSkills,
    showSkillFile,
    installPublicSkill,
    usePublicSkill,
  ],
}
