import type { AnswerOf } from '../../endpoint.ts'
import { listManifests } from '../../manifests/list-manifests.ts'
import { MANIFEST_STATUSES } from '../../manifests/manifest.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import {
  ago,
  choice,
  count,
  curlLine,
  emptyState,
  hiddenProject,
  pager,
  stateBadge,
  totalOf,
} from '../parts.ts'

const PATH = '/console/manifests'

export const listManifestsPage = page('/manifests', {
  area: 'manifests',
  async show({ ask, query, now, address }) {
    const { agent_name, status, project, cursor } = query
    const list = await ask(listManifests, { query: { agent_name, status, project, cursor } })
    const isFiltered = Boolean(agent_name || status || project)
    return {
      title: 'Manifests',
      body: html`${
        (list.manifests.length > 0 || isFiltered) &&
        html`<form class="filters" action="${PATH}">
          <input
            name="agent_name"
            value="${agent_name}"
            placeholder="Agent"
            aria-label="Agent"
            maxlength="256"
          />
          ${choice('status', 'State', MANIFEST_STATUSES, status)} ${hiddenProject(project)}
          <button class="button">Filter</button>
          ${isFiltered && html`<a class="link" href="${PATH}">Clear</a>`}
          <span class="total">${totalOf(list, 'manifest')}</span>
        </form>`
      }
      ${list.manifests.length > 0 ? rows(list.manifests, now) : nothing(isFiltered, address)}
      ${pager(PATH, query, list.next_cursor)}`,
    }
  },
})

function rows(manifests: AnswerOf<typeof listManifests>['manifests'], now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Version</th>
        <th>State</th>
        <th class="num">Components</th>
        <th class="num">Traces</th>
        <th>Hash</th>
        <th class="num">Registered</th>
      </tr>
    </thead>
    <tbody>
      ${manifests.map(
        (manifest) =>
          html`<tr>
            <td>
              <a data-row href="${PATH}/${manifest.id}"
                ><bdi>${manifest.agent_name}</bdi> ${manifest.version_label}</a
              >
              ${manifest.display_label && html`<p class="quiet"><bdi>${manifest.display_label}</bdi></p>`}
            </td>
            <td>${stateBadge(manifest.status)}</td>
            <td class="num wide">${manifest.components_count}</td>
            <td class="num">${count(manifest.traces_count)}</td>
            <td class="wide"><code class="quiet">${manifest.manifest_hash.slice(0, 12)}</code></td>
            <td class="num quiet">${ago(manifest.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function nothing(isFiltered: boolean, address: string) {
  if (isFiltered) {
    return emptyState(
      'No manifest matches',
      'Take a filter away.',
      html`<a class="button" href="${PATH}">Clear all filters</a>`,
    )
  }
  return emptyState(
    'No manifests yet',
    'A manifest says what a version of an agent is made of: models, prompts, tools, skills. Register the first one:',
    curlLine(address, 'POST /manifests', {
      agent_name: 'my-agent',
      components: [{ component_type: 'model', component_name: 'large-2' }],
    }),
  )
}
