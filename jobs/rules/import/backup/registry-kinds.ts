import { kind } from './kind.ts'

/**
 * The use of a skill that another organization published or had published, restored where the registry knows its
 * public name. `version_number` is null where the agent takes the latest.
 */
export const publicSkillAssignment = kind('public_skill_assignment', 'skill_assignments', {
  members: {
    project: 'project',
    agent_name: 'text',
    url_slug: ['public_skill', 'skill_id'],
    version_number: ['public_version?', 'version_id'],
    created_by_key_id: 'uuid?',
    created_at: 'time',
  },
  key: ['project', 'agent_name', 'url_slug'],
  since: 'created_at',
})
