import type { AnswerOf } from '../../endpoint.ts'
import { encodeCursor } from '../../pagination.ts'
import type { listDatasetRows } from '../../traces/list-dataset-rows.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { count, totalOf, withQuery } from '../parts.ts'

type RowList = AnswerOf<typeof listDatasetRows>
type Row = RowList['rows'][number]

/** The rows of datasets that a trace became. @param address of the page of the trace, without its query */
export function datasetRows(list: RowList, address: string, query: Query): Markup {
  if (list.total === 0) return html``
  return html`<section aria-labelledby="rows">
    <h2 id="rows">In datasets <span class="quiet">${totalOf(list, 'row')}</span></h2>
    <table class="rows became" data-rows>
      <thead>
        <tr>
          <th>Dataset</th>
          <th>Version</th>
          <th>Split</th>
          <th class="num">Row</th>
        </tr>
      </thead>
      <tbody>
        ${list.rows.map(tableRow)}
      </tbody>
    </table>
    ${list.next_cursor && html`<nav class="pager" aria-label="Further rows"><a class="button" rel="next" href="${withQuery(address, query, { rows: list.next_cursor })}#rows">Further rows</a></nav>`}
  </section>`
}

function tableRow({ dataset_id, dataset_name, version_label, ...row }: Row) {
  const dataset = `/console/datasets/${dataset_id}`
  const version = `${dataset}/versions/${row.version_number}`
  // The page of the version begins with the row, and has it open.
  const opened = { cursor: encodeCursor([row.ordinal]), row: String(row.ordinal) }
  return html`<tr>
    <td>
      <a href="${dataset}"><bdi>${dataset_name}</bdi></a>
    </td>
    <td><a href="${version}">${version_label}</a></td>
    <td>${row.split}${row.side !== null && html` <span class="tag">${SIDES[row.side]}</span>`}</td>
    <td class="num">
      <a data-row href="${withQuery(version, opened)}#row-${row.ordinal}"
        ><span class="label">row </span>${count(row.ordinal)}</a
      >
    </td>
  </tr>`
}

const SIDES = { chosen: 'chosen', rejected: 'rejected', both: 'both sides' } as const
