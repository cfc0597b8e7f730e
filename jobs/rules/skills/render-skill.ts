import { createHash } from 'node:crypto'
import { publicFrontmatter, writeFrontmatter } from './skill-frontmatter.ts'
import type { Frontmatter } from './skill-frontmatter.ts'
import type { Invocation } from './skill.ts'

/** The formats of SKILL.md that are rendered. */
const FORMATS: readonly number[] = [1]

/** For the organization that owns the skill, or for others. */
export const VARIANTS = ['own', 'foreign'] as const
export type Variant = (typeof VARIANTS)[number]

/** A version of a skill, and where it is installed. */
export interface RenderedSkill {
  /** The folder that it is installed in, which the format wants to be its name. */
  readonly installName: string
  readonly skillId: string
  readonly registryName: string
  /** The handle of the organization that owns it. */
  readonly owner: string
  readonly version: number
  readonly description: string
  readonly invocation: Invocation
  readonly frontmatter: Frontmatter
  /** As stored: without outer white space. */
  readonly body: string
}

/** The highest of the formats that is rendered; undefined when none is. */
export function chooseFormat(formats: readonly number[]): number | undefined {
  return FORMATS.findLast((format) => formats.includes(format))
}

/**
 * SKILL.md in format 1: frontmatter, an empty line, the body and a line feed; no carriage returns. The
 * own variant has all frontmatter that its author wrote. The foreign one has the keys of the Agent Skills
 * format only, and says in its metadata where it is from.
 */
export function renderSkill(skill: RenderedSkill, variant: Variant): string {
  const isForeign = variant === 'foreign'
  const frontmatter = writeFrontmatter(
    {
      name: skill.installName,
      description: skill.description,
      isForUsersOnly: skill.invocation === 'user',
      ...(isForeign && { metadata: originOf(skill) }),
    },
    isForeign ? publicFrontmatter(skill.frontmatter) : skill.frontmatter,
  )
  return `${frontmatter}\n${skill.body.replace(/\r\n?/g, '\n')}\n`
}

/** SHA-256 over the UTF-8 of a text, in hex. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function originOf({ registryName, skillId, version, owner }: RenderedSkill) {
  return {
    source: registryName,
    'skill-id': skillId,
    version: String(version),
    author: owner,
  }
}
