import { isUuid } from '../core/uuid.ts'
import { cutName } from './install-name.ts'
import { MAX_NAME } from './skill.ts'

/**
 * The public names that a skill can get, of which it keeps the first that is free: that of its
 * organization and its own, then the same with digits of its id behind, because `a-b` and `c` read as
 * `a` and `b-c` do. None looks like an id, by which requests would not find it.
 */
export function urlSlugs({ id, handle, name }: SluggedSkill): string[] {
  const base = `${handle}-${name}`
  // The last digits of an id are random, the first ones a time.
  const digits = id.replaceAll('-', '')
  const suffixed = [6, digits.length].map(
    (count) => `${cutName(base, MAX_NAME - 1 - count)}-${digits.slice(-count)}`,
  )
  return [cutName(base, MAX_NAME), ...suffixed].filter((slug) => !isUuid(slug))
}

interface SluggedSkill {
  readonly id: string
  /** Of its organization. */
  readonly handle: string
  readonly name: string
}
