import type { Area } from '../endpoint.ts'
import { resolvePublicSkills } from './resolve-public-skills.ts'
import { resolveSkills } from './resolve-skills.ts'
import { showSkillFile } from './show-skill-file.ts'

export const skills: Area = {
  registry: [resolveSkills, resolvePublicSkills, showSkillFile],
}
