import { kind } from './kind.ts'

/**
 * Skills that are not deleted. Publishing is an act of an organization, so that a restored skill is private;
 * `scanner_version` is 0 until the scan of its versions.
 */
export const skill = kind('skill', 'skills', {
  members: {
    id: 'uuid',
    name: 'text',
    display_name: 'text?',
    description: 'text',
    category: 'text?',
    stability: 'text',
    invocation: 'text',
    trigger_phrases: 'texts',
    frontmatter: 'json',
    eval_yaml: 'text?',
    forked_from_skill_id: 'uuid?',
    forked_at_version_id: 'uuid?',
    upstream_seen_version_id: 'uuid?',
    is_fixture: 'boolean',
    created_by: 'uuid?',
    created_at: 'time',
    updated_at: 'time',
  },
  key: ['name'],
  since: 'created_at',
  without: ['visibility', 'document', 'scanner_version', 'deleted_at'],
})

export const skillVersion = kind('skill_version', 'skill_versions', {
  members: {
    skill: 'skill',
    id: 'uuid',
    version_number: 'int',
    body: 'text',
    body_sha256: 'bytes',
    change_summary: 'text?',
    author: 'text?',
    origin: 'text',
    parent_version_id: 'uuid?',
    restored_from_version_id: 'uuid?',
    revision: 'int',
    frozen_at: 'time?',
    created_at: 'time',
  },
  key: ['skill', 'version_number'],
  since: 'created_at',
})

export const skillFile = kind('skill_file', 'skill_version_files', {
  members: {
    skill: ['skill', 'version_id'],
    version_number: 'skill_version',
    path: 'text',
    id: 'uuid',
    sha256: 'bytes',
    content: 'blob',
    mode: 'text',
    size_bytes: 'int',
    content_type: 'text',
    created_at: 'time',
  },
  key: ['skill', 'version_number', 'path'],
  since: 'created_at',
})

export const skillBenchmark = kind('skill_benchmark', 'skill_benchmarks', {
  members: {
    skill: 'skill',
    version_number: 'skill_version',
    id: 'uuid',
    suite: 'text',
    suite_sha256: 'bytes',
    runner: 'text',
    run_at: 'time',
    cases: 'int',
    errored: 'int',
    compared: 'int',
    passed_with: 'int',
    passed_without: 'int',
    flipped_to_fail: 'int',
    tokens_with: 'int?',
    tokens_without: 'int?',
    turns_with: 'int?',
    turns_without: 'int?',
    voided: 'boolean',
    created_by_key_id: 'uuid?',
    created_at: 'time',
  },
  key: ['skill', 'version_number', 'suite_sha256', 'runner', 'run_at'],
  order: ['id'],
  since: 'created_at',
})

/** `version_number` is null where the agent takes the latest. */
export const skillAssignment = kind('skill_assignment', 'skill_assignments', {
  members: {
    project: 'project',
    agent_name: 'text',
    skill: 'skill',
    version_number: 'skill_version?',
    created_by_key_id: 'uuid?',
    created_at: 'time',
  },
  key: ['project', 'agent_name', 'skill'],
  since: 'created_at',
})
