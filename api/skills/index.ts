import type { Area } from '../endpoint.ts'
import { createSkill } from './create-skill.ts'
import { listSkillVersions } from './list-skill-versions.ts'
import { listSkills } from './list-skills.ts'
import { runChecks } from './run-checks.ts'
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
    syncSkills,
    listSkillVersions,
    showSkillVersion,
    runChecks,
  ],
}
