import type { Area } from '../endpoint.ts'
import { applySuggestion } from './apply-suggestion.ts'
import { createSkill } from './create-skill.ts'
import { deleteSkill } from './delete-skill.ts'
import { forkSkill } from './fork-skill.ts'
import { listHashes } from './list-hashes.ts'
import { listSkillVersions } from './list-skill-versions.ts'
import { listSkills } from './list-skills.ts'
import { mergeUpstream } from './merge-upstream.ts'
import { reportInstalls } from './report-installs.ts'
import { routeSkills } from './route-skills.ts'
import { showBody } from './show-body.ts'
import { showMenu } from './show-menu.ts'
import { showSkillVersion } from './show-skill-version.ts'
import { showSkill } from './show-skill.ts'
import { syncSkills } from './sync-skills.ts'
import { updateSkill } from './update-skill.ts'

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
    showMenu,
    routeSkills,
  ],
}
