import type { Area } from '../endpoint.ts'
import { assignSkill } from './assign-skill.ts'
import { attachFile } from './attach-file.ts'
import { attachFiles } from './attach-files.ts'
import { createSkill } from './create-skill.ts'
import { deleteAttachment } from './delete-attachment.ts'
import { listAttachments } from './list-attachments.ts'
import { listSkillVersions } from './list-skill-versions.ts'
import { listSkills } from './list-skills.ts'
import { listSubscriptions } from './list-subscriptions.ts'
import { resolvePublicSkills } from './resolve-public-skills.ts'
import { resolveSkills } from './resolve-skills.ts'
import { showAttachment } from './show-attachment.ts'
import { showSkillFile } from './show-skill-file.ts'
import { showSkillVersion } from './show-skill-version.ts'
import { showSkill } from './show-skill.ts'
import { unassignSkill } from './unassign-skill.ts'
import { updateSkill } from './update-skill.ts'

export const skills: Area = {
  skills: [
    createSkill,
    listSkills,
    showSkill,
    updateSkill,
    listSkillVersions,
    showSkillVersion,
    listAttachments,
    attachFile,
    attachFiles,
    showAttachment,
    deleteAttachment,
    assignSkill,
    unassignSkill,
    listSubscriptions,
  ],
  registry: [resolveSkills, resolvePublicSkills, showSkillFile],
}
