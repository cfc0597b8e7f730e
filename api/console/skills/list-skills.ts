import type { AnswerOf } from '../../endpoint.ts'
import { listSkills } from '../../skills/list-skills.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, emptyState, excerpt, pager, totalOf } from '../parts.ts'
import { bandBadge } from './band-badge.ts'
import { createSkillDialog } from './create-skill.ts'
import { SKILLS, skillTabs } from './skill-tabs.ts'

export const listSkillsPage = page('/skills', {
  area: 'skills',
  async show({ ask, query, now, mayWrite }) {
    const { category, cursor } = query
    const list = await ask(listSkills, { query: { category, cursor } })
    return {
      title: 'Skills',
      beside: mayWrite
        ? html`<button type="button" class="button primary" data-open="create-skill">
              New skill</button
            >${createSkillDialog()}`
        : undefined,
      body: html`${skillTabs('Own skills')}
      ${
        (list.skills.length > 0 || category) &&
        html`<form class="filters" action="${SKILLS}">
          <input
            name="category"
            value="${category}"
            placeholder="Category"
            aria-label="Category"
            maxlength="64"
          />
          <button class="button">Filter</button>
          ${category && html`<a class="link" href="${SKILLS}">Clear</a>`}
          <span class="total">${totalOf(list, 'skill')}</span>
        </form>`
      }
      ${list.skills.length > 0 ? rows(list.skills, now) : nothing(category)}
      ${pager(SKILLS, query, list.next_cursor)}`,
    }
  },
})

function rows(skills: readonly Skill[], now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Skill</th>
        <th>Category</th>
        <th>Safety</th>
        <th>Seen by</th>
        <th class="num">Version</th>
        <th class="num">Changed</th>
      </tr>
    </thead>
    <tbody>
      ${skills.map(
        (skill) =>
          html`<tr>
            <td class="describes">
              <a data-row href="${SKILLS}/${skill.id}"><b>${skill.name}</b></a>
              ${skill.has_upstream_update && badge('update', 'busy')}
              ${skill.stability !== 'stable' && badge(skill.stability)}
              <p class="quiet"><bdi>${excerpt(skill.description)}</bdi></p>
            </td>
            <td class="wide"><bdi>${skill.category}</bdi></td>
            <td>${bandBadge(skill.latest_version.safety_band)}</td>
            <td>
              ${skill.visibility === 'public' ? 'everybody' : html`<span class="quiet">you</span>`}
            </td>
            <td class="num">
              <span class="label">version </span>${skill.latest_version.version_number}
            </td>
            <td class="num quiet">${ago(skill.latest_version.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function nothing(category: string | undefined) {
  if (category) {
    return emptyState(
      'No skill of this category',
      'A category is written as it was given.',
      html`<a class="button" href="${SKILLS}">All skills</a>`,
    )
  }
  return emptyState(
    'No skills yet',
    'A skill is a text that tells agents how to do one thing, with the files that it needs. Write one, or install one that others made public.',
    html`<a class="button" href="/console/registry">To the registry</a>`,
  )
}

type Skill = AnswerOf<typeof listSkills>['skills'][number]
