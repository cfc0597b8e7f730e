import type { AnswerOf } from '../../endpoint.ts'
import { listImports } from '../../import/list-imports.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, count, emptyState, pager, stateBadge } from '../parts.ts'
import { importForm } from './import-form.ts'

const PATH = '/console/imports'

export const listImportsPage = page('/imports', {
  area: 'imports',
  async show({ ask, query, now, mayWrite, address }) {
    const { cursor, project } = query
    const list = await ask(listImports, { query: { cursor, project, limit: 50 } })
    const isEmpty = list.imports.length === 0
    return {
      title: 'Imports',
      body: html`${mayWrite && importForm({ isOpen: isEmpty, address, project })}
      ${isEmpty && !mayWrite && emptyState('No imports yet', 'Imports bring traces from files and other platforms. A key that may write starts them.')}
      ${
        !isEmpty &&
        html`<section>
            ${mayWrite && html`<h2>Imports so far</h2>`}${rows(list.imports, now)}
          </section>
          ${pager(PATH, query, list.next_cursor)}`
      }`,
    }
  },
})

function rows(imports: AnswerOf<typeof listImports>['imports'], now: Date): Markup {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Import</th>
        <th>State</th>
        <th class="num">Imported</th>
        <th class="num">Known already</th>
        <th class="num">Errors</th>
        <th class="num">Losses</th>
        <th class="num">Begun</th>
      </tr>
    </thead>
    <tbody>
      ${imports.map((item) => {
        const losses = Object.values(item.losses).reduce((sum, n) => sum + n, 0)
        return html`<tr>
          <td>
            <a data-row href="${PATH}/${item.id}"
              ><b>${item.source}</b> <code>${item.id.slice(-8)}</code></a
            >
            ${item.connection && html`<p class="quiet"><bdi>${item.connection.project}</bdi> of ${item.connection.base_url}</p>`}
            ${item.dry_run && html`<p class="quiet">dry run</p>`}
          </td>
          <td>${stateBadge(item.status)}</td>
          <td class="num">${count(item.imported_count)}<span class="unit"> imported</span></td>
          <td class="num">${count(item.skipped_count)}<span class="unit"> known already</span></td>
          <td class="num ${item.error_count > 0 && 'error'}">
            ${count(item.error_count)}<span class="unit"> errors</span>
          </td>
          <td class="num">${count(losses)}<span class="unit"> losses</span></td>
          <td class="num quiet">${ago(item.created_at, now)}</td>
        </tr>`
      })}
    </tbody>
  </table>`
}
