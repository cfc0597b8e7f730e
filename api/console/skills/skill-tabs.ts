import type { Markup } from '../html.ts'
import { tabs } from '../parts.ts'

export const SKILLS = '/console/skills'
export const REGISTRY = '/console/registry'

const TABS = [
  { text: 'Own skills', href: SKILLS },
  { text: 'Registry', href: REGISTRY },
] as const

/** The lists of skills, the present one marked. */
export function skillTabs(current: (typeof TABS)[number]['text']): Markup {
  return tabs(
    'Skills',
    TABS.map((tab) => ({ ...tab, isCurrent: tab.text === current })),
  )
}
