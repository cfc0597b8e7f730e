import { createHash } from 'node:crypto'
import { cut } from '../core/reader.ts'
import { isUuid } from '../core/uuid.ts'

/** What a skill is made of: its name, its body, and the bounds of both. */

export const STABILITIES = ['stable', 'experimental', 'deprecated'] as const
export type Stability = (typeof STABILITIES)[number]

/** Who may start it. */
export const INVOCATIONS = ['model', 'user', 'any'] as const
export type Invocation = (typeof INVOCATIONS)[number]

/** What made a version. */
export const ORIGINS = [
  'create',
  'sync',
  'suggestion',
  'upstream',
  'restore',
  'fork',
  'files',
] as const
export type Origin = (typeof ORIGINS)[number]

/** What is said of the safety of a version. */
export const BANDS = ['passed', 'caution', 'blocked', 'unreviewed'] as const
export type Band = (typeof BANDS)[number]

/** Characters of a name, of a description, and bytes of a body. */
export const MAX_NAME = 64
export const MAX_DESCRIPTION = 1024
export const MAX_BODY_BYTES = 256 * 1024
/** Skills of an organization, so that all of them can be told at once. */
export const MAX_SKILLS = 10_000
/** Of a skill; none is ever taken away. */
export const MAX_VERSIONS = 1000

/** Lower-case letters, digits and single inner hyphens, as the Agent Skills format says. */
export const NAME_PATTERN = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Whether a skill can have this name. One that looks like an id cannot be: requests give either. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && NAME_PATTERN.test(name) && !isUuid(name)
}

/** A body as it is stored and hashed: without outer white space, because clients hash it so. */
export function trimBody(markdown: string): string {
  return markdown.trim()
}

/** SHA-256 over the UTF-8 of a trimmed body. */
export function hashBody(body: string): Buffer {
  return createHash('sha256').update(body).digest()
}

/** Why a trimmed body cannot be stored; undefined when it can. */
export function faultOfBody(body: string): 'frontmatter_in_body' | 'too_large' | undefined {
  if (/^---[ \t]*(\r?\n|$)/.test(body)) return 'frontmatter_in_body'
  return Buffer.byteLength(body) > MAX_BODY_BYTES ? 'too_large' : undefined
}

/**
 * What is said of a skill that nobody described: the first line of its body that is no heading, else its
 * name. At most 200 characters, and never none.
 */
export function describeBody(body: string, name: string): string {
  const lines = body.split(/\r?\n/, MAX_LINES_READ).map((line) => line.trim())
  const line = lines.find((line) => line !== '' && !line.startsWith('#'))
  return line === undefined ? name : cut(line, DESCRIBED)
}

const DESCRIBED = 200
const MAX_LINES_READ = 1000
