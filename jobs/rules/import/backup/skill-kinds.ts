import { createHash } from 'node:crypto'
import { freeForm, text } from '../../../shape.ts'
import { faultOfPath } from '../../skills/file-path.ts'
import { faultOfFrontmatter } from '../../skills/skill-frontmatter.ts'
import { faultOfBody, isSkillName, MAX_VERSIONS, trimBody } from '../../skills/skill.ts'
import { MAX_FILE_BYTES, MEDIA_TYPE } from '../../skills/version-files.ts'
import type { Members } from '../format.ts'
import { versionNumber } from './json-shapes.ts'
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
  shapes: { frontmatter: freeForm() },
  fault({ name, frontmatter }) {
    if (!isSkillName(name as string)) return 'name is none that a skill can have'
    const fault = faultOfFrontmatter(frontmatter as object)
    return fault && `frontmatter ${fault}`
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
  shapes: { version_number: versionNumber() },
  fault: faultOfVersion,
  key: ['skill', 'version_number'],
  since: 'created_at',
  without: ['restored_by'],
})

export const skillFile = kind('skill_file', 'skill_version_files', {
  members: {
    skill: ['skill', null],
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
  shapes: { content_type: text(128).pattern(MEDIA_TYPE, 'a media type') },
  fault: faultOfFile,
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

function faultOfVersion(values: Members) {
  const { body, version_number } = values as { body: string; version_number: number }
  if (version_number > MAX_VERSIONS) return `version_number must be at most ${MAX_VERSIONS}`
  if (trimBody(body) !== body) return 'body must have no outer white space'
  const fault = faultOfBody(body)
  if (fault) return `body is refused: ${fault}`
  return faultOfHash(values, 'body', 'utf8', 'body_sha256')
}

/** Its path is below the folder of the skill, and its bytes are those that the line tells of. */
function faultOfFile(values: Members) {
  const { path, content, size_bytes } = values as {
    path: string
    content: string
    size_bytes: number
  }
  const fault = faultOfPath(path)
  if (fault) return `path ${fault}`
  if (size_bytes > MAX_FILE_BYTES) return `content must have at most ${MAX_FILE_BYTES} bytes`
  if (Buffer.from(content, 'base64').length !== size_bytes)
    return 'size_bytes is not that of content'
  return faultOfHash(values, 'content', 'base64', 'sha256')
}

function faultOfHash(values: Members, name: string, encoding: BufferEncoding, hash: string) {
  const bytes = Buffer.from(values[name] as string, encoding)
  const sha256 = createHash('sha256').update(bytes).digest('base64')
  return sha256 === values[hash] ? undefined : `${hash} is not that of ${name}`
}
