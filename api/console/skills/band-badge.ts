import type { Band } from '../../../jobs/rules/skills/skill.ts'
import type { Markup } from '../html.ts'
import { badge } from '../parts.ts'
import type { Tone } from '../parts.ts'

/** What is said of the safety of a version. */
export function bandBadge(band: Band): Markup {
  return badge(band, TONES[band])
}

const TONES: Readonly<Record<Band, Tone>> = {
  passed: 'good',
  caution: 'warning',
  blocked: 'bad',
  unreviewed: 'plain',
}
