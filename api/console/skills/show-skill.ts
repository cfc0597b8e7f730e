import { showRegistrySkill } from '../../skills/show-registry-skill.ts'
import { showSkill } from '../../skills/show-skill.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import { badge, facts, sendButton, tabs, withQuery } from '../parts.ts'
import { agentsView } from './agents-view.ts'
import { bandBadge } from './band-badge.ts'
import { evidenceView } from './evidence-view.ts'
import type { PublicSkill, Skill } from './skill.ts'
import { REGISTRY, SKILLS } from './skill-tabs.ts'
import { textView } from './text-view.ts'
import { versionsView } from './versions-view.ts'

export const showSkillPage = page('/skills/{skill_name}', {
  area: 'skills',
  async show(visit) {
    const { ask, params, query, mayWrite } = visit
    const skill = await ask(showSkill, { params })
    const shown = VIEWS.find(({ show }) => show === (query['show'] ?? '')) ?? VIEWS[0]
    const path = `${SKILLS}/${skill.id}`
    const [shownPublicly, view] = await Promise.all([
      skill.visibility === 'public'
        ? ifFound(ask(showRegistrySkill, { params: { skill_id: skill.id } }))
        : undefined,
      shown.view(visit, skill),
    ])
    return {
      title: skill.name,
      above: [{ title: 'Skills', href: SKILLS }],
      beside: mayWrite ? actions(visit, skill, shownPublicly) : undefined,
      body: html`<p class="description"><bdi>${skill.description}</bdi></p>
        ${factsOf(skill, shownPublicly)}
        ${skill.has_upstream_update && upstreamNotice(skill, mayWrite)}
        ${tabs(
          'Skill',
          VIEWS.map(({ show, text }) => ({
            text,
            href: withQuery(path, { show }),
            isCurrent: show === shown.show,
          })),
        )}
        ${view}`,
    }
  },
})

const VIEWS = [
  { show: '', text: 'Text', view: textView },
  { show: 'versions', text: 'Versions', view: versionsView },
  { show: 'evidence', text: 'Evidence', view: evidenceView },
  { show: 'agents', text: 'Agents', view: agentsView },
] as const satisfies readonly View[]

interface View {
  readonly show: string
  readonly text: string
  readonly view: (visit: Visit, skill: Skill) => Promise<Markup>
}

function factsOf(skill: Skill, shownPublicly: PublicSkill | undefined) {
  const { latest_version: newest, forked_from_skill_id: origin } = skill
  return facts({
    'Newest version': html`${newest.version_number} ${bandBadge(newest.safety_band)}`,
    'Seen by': skill.visibility === 'private' ? 'your organization' : 'everybody',
    'In the registry':
      shownPublicly &&
      html`<a class="link" href="${REGISTRY}/${skill.id}"
        >version ${shownPublicly.version_number}</a
      >`,
    Stability: skill.stability !== 'stable' && badge(skill.stability, 'warning'),
    'Started by': skill.invocation === 'any' ? undefined : `the ${skill.invocation}`,
    Category: skill.category && html`<bdi>${skill.category}</bdi>`,
    'Copy of': origin && html`<a class="link" href="${REGISTRY}/${origin}">another skill</a>`,
    Hash: html`<code>${newest.content_hash.slice(0, 16)}</code>`,
  })
}

/** Only who has the whole organization makes something public. */
function actions(
  { principal }: Visit,
  { id, name, latest_version, visibility }: Skill,
  shownPublicly: PublicSkill | undefined,
) {
  const isOwner = principal.permissions === 'admin' && principal.scope === 'global'
  const newest = latest_version.version_number
  return html`${sendButton('Copy', `POST /skills/${id}/fork`, { then: `${SKILLS}/{skill.id}` })}
  ${isOwner && visibility === 'public' && sendButton('Take it back', `POST /skills/${id}/unpublish`, { confirm: `Take ${name} out of the registry? Copies that others made stay.` })}
  ${isOwner && shownPublicly?.version_number !== newest && sendButton(`Publish version ${newest}`, `POST /skills/${id}/publish`, { kind: 'primary', confirm: `Publish version ${newest} of ${name}? Everybody can install it then.` })}`
}

function upstreamNotice({ id, forked_from_skill_id: origin }: Skill, mayWrite: boolean) {
  const take = (text: string, strategy: string) =>
    sendButton(text, `POST /skills/${id}/merge-upstream`, { body: { strategy }, kind: 'small' })
  return html`<section class="card upstream" aria-label="Update">
    <p>
      <a class="link" href="${REGISTRY}/${origin}">The skill that this one is a copy of</a> has a
      new version. Taking it over makes it the newest version here; what is here now stays as the
      one before.
    </p>
    ${mayWrite && html`<p class="actions">${take('Take it over', 'theirs')} ${take('Stay with this', 'ours')}</p>`}
  </section>`
}
