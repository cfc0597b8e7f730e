import { DATASET_TYPES } from '../../../jobs/rules/datasets/recipe.ts'
import { listDatasets } from '../../datasets/list-datasets.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, choice, count, curlLine, emptyState, pager, plural } from '../parts.ts'

const PATH = '/console/datasets'

export const listDatasetsPage = page('/datasets', {
  area: 'datasets',
  async show({ ask, query, now, address, mayWrite }) {
    const { dataset_type, cursor } = query
    const list = await ask(listDatasets, { query: { dataset_type, cursor, limit: 50 } })
    const isEmpty = list.datasets.length === 0
    const create = html`<button type="button" class="button primary" data-open="create">
      New dataset
    </button>`
    return {
      title: 'Datasets',
      beside: mayWrite ? create : undefined,
      body: html`${(!isEmpty || dataset_type) && filters(dataset_type, list.total)}
      ${isEmpty ? nothing(dataset_type, address, mayWrite) : html`${rows(list.datasets, now)}${pager(PATH, query, list.next_cursor)}`}
      ${mayWrite && createDialog()}`,
    }
  },
})

function filters(type: string | undefined, total: number | null) {
  const options = DATASET_TYPES.map((value) => ({ value, text: `${value}: ${TYPE_WORDS[value]}` }))
  return html`<form class="filters" action="${PATH}">
    ${choice('dataset_type', 'Type', options, type)}
    <button class="button">Filter</button>
    ${type && html`<a class="link" href="${PATH}">Clear</a>`}
    <span class="total">${plural(total ?? 0, 'dataset')}</span>
  </form>`
}

function rows(datasets: List['datasets'], now: Date): Markup {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>Dataset</th>
        <th>Type</th>
        <th>Agent</th>
        <th class="num">Rows</th>
        <th class="num">Versions</th>
        <th class="num">Created</th>
      </tr>
    </thead>
    <tbody>
      ${datasets.map(
        (dataset) =>
          html`<tr>
            <td class="named">
              <a data-row href="${PATH}/${dataset.id}"><bdi>${dataset.name}</bdi></a>
              ${dataset.description && html`<p class="quiet"><bdi>${cut(dataset.description)}</bdi></p>`}
            </td>
            <td>${badge(dataset.dataset_type)}</td>
            <td><bdi>${dataset.training_target_agent ?? 'any'}</bdi></td>
            <td class="num">
              ${dataset.current_version_id ? html`${count(dataset.row_count)}<span class="unit"> rows</span>` : html`<span class="quiet">none yet</span>`}
            </td>
            <td class="num">${dataset.version_count}<span class="unit"> versions</span></td>
            <td class="num quiet">${ago(dataset.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function createDialog() {
  return html`<dialog id="create" aria-labelledby="create-title">
    <h2 id="create-title">New dataset</h2>
    <form class="form" data-send="POST /api/v1/datasets" data-then="${PATH}/{id}">
      <label>Name<input name="name" required maxlength="256" placeholder="support-sft" /></label>
      <label
        >Type<select name="dataset_type">
          ${DATASET_TYPES.map((type) => html`<option value="${type}">${type}: ${TYPE_WORDS[type]}</option>`)}
        </select></label
      >
      <label
        >Agent<small>The one to train. A build takes its traces unless it says otherwise.</small
        ><input name="training_target_agent" maxlength="256"
      /></label>
      <label>Description<textarea name="description" maxlength="4000"></textarea></label>
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Create</button
        ><button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}

function nothing(type: string | undefined, address: string, mayWrite: boolean) {
  if (type) {
    const all = html`<a class="button" href="${PATH}">Show all datasets</a>`
    return emptyState('No dataset of this type', 'There are others, or none yet.', all)
  }
  const text =
    'A dataset is made of traces that are worth learning from: conversations (sft), pairs of a better and a worse turn (dpo), or single turns that are good or bad (kto).'
  const body = { name: 'support-sft', dataset_type: 'sft' }
  return emptyState(
    'No datasets yet',
    text,
    mayWrite ? curlLine(address, 'POST /datasets', body) : undefined,
  )
}

function cut(text: string) {
  return text.length > 140 ? `${text.slice(0, 139)}…` : text
}

export const TYPE_WORDS = {
  sft: 'conversations to learn from',
  dpo: 'pairs of a better and a worse turn',
  kto: 'single turns, good or bad',
} as const

type List = AnswerOf<typeof listDatasets>
