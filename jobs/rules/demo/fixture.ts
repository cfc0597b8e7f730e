/**
 * What the demo operations put into an organization. All of it says that it is a fixture and whose, so that
 * it can be told from what is the organization's own.
 */

/** What manifests and traces of the demo carry as metadata. */
export const DEMO_MARK = { fixture: true, made_by: 'demo' } as const

/** Agents whose names are the demo's. */
export const DEMO_AGENT = 'demo-support-agent'
export const DEMO_SKILLS_AGENT = 'demo-skills-agent'
