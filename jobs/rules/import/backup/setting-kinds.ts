import { kind } from './kind.ts'

/** Has neither id nor time: an empty installation has one of its own, which is the same by its name. */
export const workspace = kind('workspace', 'workspaces', {
  members: { name: 'text' },
  key: ['name'],
  since: 'created_at',
  without: ['id', 'created_at'],
})

/** As `workspace`. */
export const project = kind('project', 'projects', {
  members: { name: 'text', workspace: 'workspace' },
  key: ['name'],
  since: 'created_at',
  without: ['id', 'created_at'],
})

export const decisionPolicy = kind('decision_policy', 'decision_policies', {
  members: {
    project: 'project',
    agent_name: 'text',
    version: 'int',
    preset: 'text',
    settings: 'json',
    content_hash: 'text',
    created_by: 'uuid?',
    created_at: 'time',
  },
  key: ['project', 'agent_name', 'version'],
  since: 'created_at',
})

export const evaluator = kind('evaluator', 'evaluators', {
  members: {
    project: 'project',
    id: 'uuid',
    name: 'text',
    agent_name: 'text',
    type: 'text',
    eval_type: 'text',
    category: 'text?',
    display_name: 'text?',
    description: 'text?',
    prompt_template: 'text?',
    threshold: 'float?',
    config: 'json',
    created_at: 'time',
  },
  key: ['project', 'name', 'agent_name'],
  since: 'created_at',
})

export const redactionSettings = kind('redaction_settings', 'redaction_settings', {
  members: {
    project: 'project',
    patterns: 'json',
    keep: 'texts',
    updated_by: 'uuid?',
    updated_at: 'time',
  },
  key: ['project'],
  since: null,
})
