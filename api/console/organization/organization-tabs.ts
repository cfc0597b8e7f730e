import type { Markup } from '../html.ts'
import { tabs } from '../parts.ts'

const TABS = [
  { text: 'Usage', href: '/console/organization' },
  { text: 'Keys', href: '/console/organization/keys' },
  { text: 'Decision policy', href: '/console/organization/policy' },
  { text: 'Redaction', href: '/console/organization/redaction' },
] as const

/** The pages of the organization, the present one marked. */
export function organizationTabs(current: (typeof TABS)[number]['text']): Markup {
  return tabs(
    'Organization',
    TABS.map((tab) => ({ ...tab, isCurrent: tab.text === current })),
  )
}
