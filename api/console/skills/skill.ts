import type { AnswerOf } from '../../endpoint.ts'
import type { showRegistrySkill } from '../../skills/show-registry-skill.ts'
import type { showSkill } from '../../skills/show-skill.ts'

export type Skill = AnswerOf<typeof showSkill>
export type PublicSkill = AnswerOf<typeof showRegistrySkill>
