import type { AnswerOf } from '../../endpoint.ts'
import { searchRegistry } from '../../skills/search-registry.ts'
import { BADGES } from '../../../jobs/rules/skills/skill-badge.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import {
  badge,
  choice,
  emptyState,
  excerpt,
  pager,
  scoreBar,
  sendButton,
  totalOf,
} from '../parts.ts'
import { bandBadge } from './band-badge.ts'
import { REGISTRY, SKILLS, skillTabs } from './skill-tabs.ts'

const SORTS = [
  { value: 'rating', text: 'best rated' },
  { value: 'biggest_improvement', text: 'largest improvement' },
  { value: 'efficiency', text: 'fewest tokens' },
  { value: 'installs', text: 'most installs' },
  { value: 'recent', text: 'newest' },
]

export const listRegistryPage = page('/registry', {
  area: 'skills',
  async show({ ask, query, mayWrite }) {
    const { q, sort, badge: tier, category, cursor } = query
    const list = await ask(searchRegistry, { query: { q, sort, badge: tier, category, cursor } })
    const isFiltered = Boolean(q || tier || category)
    return {
      title: 'Skills',
      body: html`${skillTabs('Registry')}
        <form class="filters" action="${REGISTRY}" role="search">
          <span class="search"
            ><input
              type="search"
              name="q"
              value="${q}"
              placeholder="Search public skills"
              aria-label="Search"
              maxlength="512"
            /><kbd aria-hidden="true">/</kbd></span
          >
          ${choice('sort', 'Order', SORTS, sort, 'best score first')}
          ${choice('badge', 'Evidence', BADGES, tier)}
          ${category && html`<input type="hidden" name="category" value="${category}" />`}
          <button class="button">Search</button>
          ${isFiltered && html`<a class="link" href="${REGISTRY}">Clear</a>`}
          <span class="total">${totalOf(list, 'skill')}</span>
        </form>
        ${list.items.length > 0 ? rows(list.items) : nothing(isFiltered)}
        ${pager(REGISTRY, query, list.next_cursor)}`,
    }

    function rows(items: readonly Item[]) {
      return html`<table class="rows" data-rows>
        <thead>
          <tr>
            <th>Skill</th>
            <th>Score</th>
            <th>Evidence</th>
            <th>Safety</th>
            <th>${sort ? 'By' : 'Installed'}</th>
            ${mayWrite && html`<th><span class="visually-hidden">Install</span></th>`}
          </tr>
        </thead>
        <tbody>
          ${items.map((item) => itemRow(item))}
        </tbody>
      </table>`
    }

    function itemRow(item: Item) {
      const { skill_id: id, installed_as: copy } = item
      return html`<tr>
        <td class="describes">
          <a data-row href="${REGISTRY}/${id}"
            ><span class="quiet"><bdi>${item.handle}</bdi>/</span><b>${item.name}</b></a
          >
          ${item.stability !== 'stable' && badge(item.stability)}
          <p class="quiet"><bdi>${excerpt(item.description)}</bdi></p>
        </td>
        <td>${scoreBar(item.effectiveness.skill_score)}</td>
        <td>${item.skill_badge}</td>
        <td>${bandBadge(item.skill_safety)}</td>
        <td class="quiet">
          ${sort ? item.metric.label : html`<span class="label">installed </span>${item.install_count}`}
        </td>
        ${mayWrite && html`<td class="num">${copy ? html`<a class="link" href="${SKILLS}/${copy}">installed</a>` : sendButton('Install', `POST /registry/skills/${id}/fork`, { kind: 'small', then: `${SKILLS}/{skill.id}` })}</td>`}
      </tr>`
    }
  },
})

function nothing(isFiltered: boolean) {
  if (isFiltered) {
    return emptyState(
      'No public skill matches',
      'Take a word or a choice away.',
      html`<a class="button" href="${REGISTRY}">All public skills</a>`,
    )
  }
  return emptyState(
    'Nobody has published a skill yet',
    'A skill is published on its own page, by who has a key with the rights of an administrator.',
    html`<a class="button" href="${SKILLS}">To the own skills</a>`,
  )
}

type Item = AnswerOf<typeof searchRegistry>['items'][number]
