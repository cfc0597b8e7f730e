import { createHash, randomUUID } from 'node:crypto'
import type { TestLine } from '../backup-lines.ts'

/** A skill as a backup has it. */
export function skillLine(name: string, given: object = {}): TestLine {
  return {
    kind: 'skill',
    id: randomUUID(),
    name,
    description: 'What it is for',
    stability: 'stable',
    invocation: 'any',
    trigger_phrases: [],
    frontmatter: {},
    is_fixture: false,
    created_at: AT,
    updated_at: AT,
    ...given,
  }
}

export function versionLine(
  skill: string,
  given: { body?: string; origin?: string; version_number?: number } = {},
): TestLine {
  const { body = 'Do it well.' } = given
  return {
    kind: 'skill_version',
    skill,
    id: randomUUID(),
    version_number: 1,
    body_sha256: sha256(body),
    origin: 'create',
    revision: 0,
    created_at: AT,
    ...given,
    body,
  }
}

export function fileLine(
  skill: string,
  path: string,
  content: string,
  given: object = {},
): TestLine {
  return {
    kind: 'skill_file',
    skill,
    version_number: 1,
    path,
    id: randomUUID(),
    sha256: sha256(content),
    content: Buffer.from(content).toString('base64'),
    mode: '0644',
    size_bytes: Buffer.byteLength(content),
    content_type: 'text/plain',
    created_at: AT,
    ...given,
  }
}

function sha256(text: string) {
  return createHash('sha256').update(text).digest('base64')
}

const AT = '2026-03-01T10:00:00.000Z'
