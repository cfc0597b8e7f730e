import { showDataset } from '../../datasets/show-dataset.ts'
import { listDatasetPushes } from '../../datasets/list-dataset-pushes.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import {
  ago,
  amount,
  badge,
  count,
  curlLine,
  emptyState,
  facts,
  plural,
  sendButton,
  stateBadge,
} from '../parts.ts'
import { buildDialog } from './build-form.ts'
import { TYPE_WORDS } from './list-datasets.ts'
import { pushTable } from './pushes.ts'
import { splitBar } from './split-bar.ts'
import { isUnfinished } from './version.ts'
import type { Version } from './version.ts'

type Dataset = AnswerOf<typeof showDataset>

export const showDatasetPage = page('/datasets/{dataset_id}', {
  area: 'datasets',
  async show(visit) {
    const { ask, params, now, mayWrite, principal, address } = visit
    const [dataset, { pushes }] = await Promise.all([
      ask(showDataset, { params }),
      ask(listDatasetPushes, { params, query: { limit: 10 } }),
    ])
    const { id, dataset_type: type } = dataset
    return {
      title: dataset.name,
      above: [{ title: 'Datasets', href: '/console/datasets' }],
      beside: mayWrite
        ? html`${principal.permissions === 'admin' && deleteButton(dataset)}<button
              type="button"
              class="button primary"
              data-open="build"
            >
              Build a version
            </button>`
        : undefined,
      body: html`${facts({
        Type: html`${type} <span class="quiet">${TYPE_WORDS[type]}</span>`,
        Agent: html`<bdi>${dataset.training_target_agent ?? 'any'}</bdi>`,
        Rows: dataset.current_version_id ? count(dataset.row_count) : 'none yet',
        License: dataset.license,
        Created: ago(dataset.created_at, now),
      })}
      ${dataset.description && html`<p class="lead"><bdi>${dataset.description}</bdi></p>`}
      ${dataset.versions.length === 0 ? noVersion(id, address, mayWrite) : livePanel(`/console/datasets/${id}/events`, await versionsPanel(visit, dataset))}
      ${
        pushes.length > 0 &&
        html`<section>
          <h2>Pushed to a hub</h2>
          ${pushTable(pushes, now)}
        </section>`
      }
      ${mayWrite && buildDialog(dataset)}`,
    }
  },
})

function deleteButton({ id, version_count }: Dataset) {
  return sendButton('Delete', `DELETE /datasets/${id}`, {
    // oxlint-disable-next-line unicorn/no-thenable -- the page that comes then
    then: '/console/datasets',
    kind: 'danger',
    confirm: `Delete the dataset and its ${plural(version_count, 'version')}? Their files are deleted, too.`,
  })
}

export const datasetEvents = panelEvents('/datasets/{dataset_id}/events', async (visit) =>
  versionsPanel(visit, await visit.ask(showDataset, { params: visit.params })),
)

/** The versions, the newest first. It is live while one of them is built. */
async function versionsPanel(
  { ask, now }: Visit,
  { id, versions, version_count }: Dataset,
): Promise<Panel> {
  const building = versions.find(isUnfinished)
  const job =
    building && (await ifFound(ask(showJob, { params: { job_id: building.job_id }, query: {} })))
  return {
    isDone: !building,
    markup: html`<section>
      <h2>Versions</h2>
      <table class="rows versions" data-rows>
        <thead>
          <tr>
            <th>Version</th>
            <th>State</th>
            <th class="num">Rows</th>
            <th>Splits</th>
            <th class="num">Tokens</th>
            <th class="num">Built</th>
          </tr>
        </thead>
        <tbody>
          ${versions.map((version) => versionRow(id, version, version === building ? job : undefined, now))}
        </tbody>
      </table>
      ${version_count > versions.length && html`<p class="quiet">The newest ${versions.length} of ${count(version_count)} versions are shown; <code>GET /api/v1/datasets/…/versions</code> lists all.</p>`}
    </section>`,
  }
}

function versionRow(
  id: string,
  version: Version,
  job: AnswerOf<typeof showJob> | undefined,
  now: Date,
) {
  const path = `/console/datasets/${id}/versions/${version.version_number}`
  const { split_counts, error, stale } = version
  const isFailed = version.status === 'failed'
  return html`<tr>
    <td>
      <a data-row href="${path}"><b>${version.version_label}</b></a>
    </td>
    <td>
      ${stateBadge(version.status)} ${stale?.is_stale && badge('stale', 'warning')}
      ${version.restored && badge('from a backup')}
      ${job && html`<progress max="100" value="${job.progress.percent ?? 0}" aria-label="Progress"></progress> <span class="quiet">${job.progress.note ?? 'waiting'}</span>`}
      ${isFailed && error && html`<p class="error"><bdi>${String(error['message'] ?? error['code'])}</bdi></p>`}
    </td>
    <td class="num">${count(version.row_count)}<span class="unit"> rows</span></td>
    <td class="split-cell">${split_counts && splitBar(split_counts)}</td>
    <td class="num">
      ${amount(version.token_estimate, 'tokens').replace(' tokens', '')}<span class="unit">
        tokens</span
      >
    </td>
    <td class="num quiet">${ago(version.ready_at ?? version.created_at, now)}</td>
  </tr>`
}

function noVersion(id: string, address: string, mayWrite: boolean): Markup {
  const action = mayWrite
    ? curlLine(address, `POST /datasets/${id}/build`, {
        filters: { min_eval_score: 0.8 },
        split: { train: 0.9, validation: 0.1 },
      })
    : undefined
  const text =
    'A version fixes which traces became rows, and can be built again to the byte. Build the first one.'
  return emptyState('No version yet', text, action)
}
