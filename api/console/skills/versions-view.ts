import { listSkillVersions } from '../../skills/list-skill-versions.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Visit } from '../page.ts'
import { ago, pager, withQuery } from '../parts.ts'
import { bandBadge } from './band-badge.ts'
import type { Skill } from './skill.ts'
import { SKILLS } from './skill-tabs.ts'

/** The versions, each leading to what it changed. */
export async function versionsView({ ask, query, now }: Visit, { id }: Skill): Promise<Markup> {
  const { cursor } = query
  const params = { skill_name: id }
  const list = await ask(listSkillVersions, { params, query: { cursor } })
  const path = `${SKILLS}/${id}`
  return html`<table class="rows" data-rows>
      <thead>
        <tr>
          <th class="num">Version</th>
          <th>What changed</th>
          <th>Made by</th>
          <th>Safety</th>
          <th>Hash</th>
          <th class="num">Made</th>
        </tr>
      </thead>
      <tbody>
        ${list.versions.map((version) => {
          const { version_number: n, change_summary: summary } = version
          const link = withQuery(path, {
            version: String(n),
            against: n > 1 ? String(n - 1) : undefined,
          })
          return html`<tr>
            <td class="num">
              <a data-row href="${link}"><span class="label">version </span>${n}</a>
            </td>
            <td class="describes"><bdi>${summary ?? ORIGINS[version.origin]}</bdi></td>
            <td>${version.author && html`<bdi>${version.author}</bdi>`}</td>
            <td>${bandBadge(version.safety_band)}</td>
            <td class="wide"><code class="quiet">${version.content_hash.slice(0, 12)}</code></td>
            <td class="num quiet">${ago(version.created_at, now)}</td>
          </tr>`
        })}
      </tbody>
    </table>
    ${pager(path, { show: 'versions', cursor }, list.next_cursor)}`
}

/** Of versions that nobody said anything of. */
const ORIGINS: Readonly<Record<string, string>> = {
  create: 'First version',
  sync: 'Sent by a client',
  suggestion: 'A suggestion was taken',
  upstream: 'Taken over from the skill it is a copy of',
  restore: 'An older text again',
  fork: 'Copied',
  files: 'Other files',
}
