import { showVersion } from '../../datasets/show-version.ts'
import { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import {
  ago,
  count,
  facts,
  plural,
  sendButton,
  shortId,
  stateBadge,
  tabs,
  withQuery,
} from '../parts.ts'
import { pushDialog } from './pushes.ts'
import { cardView, changesView, filesView } from './version-views.ts'
import { rowsView } from './version-rows.ts'
import { isUnfinished, pathOf } from './version.ts'
import type { Version } from './version.ts'

export const showVersionPage = page('/datasets/{dataset_id}/versions/{version}', {
  area: 'datasets',
  async show(visit) {
    const version = await visit.ask(showVersion, { params: visit.params })
    const path = pathOf(version)
    return {
      title: `${version.dataset_name} ${version.version_label}`,
      above: [
        { title: 'Datasets', href: '/console/datasets' },
        { title: version.dataset_name, href: `/console/datasets/${version.dataset_id}` },
      ],
      beside: visit.mayWrite ? actions(version) : undefined,
      body:
        version.status === 'ready'
          ? await readyVersion(visit, version)
          : livePanel(`${path}/events`, await buildPanel(visit, version)),
    }
  },
})

export const versionEvents = panelEvents(
  '/datasets/{dataset_id}/versions/{version}/events',
  async (visit) => buildPanel(visit, await visit.ask(showVersion, { params: visit.params })),
)

function actions(version: Version) {
  const path = `/datasets/${version.dataset_id}/versions/${version.version_number}` as const
  const then = `/console/datasets/${version.dataset_id}/versions/{version_number}`
  if (isUnfinished(version)) return sendButton('Cancel the build', `POST ${path}/cancel`)
  // oxlint-disable-next-line unicorn/no-thenable -- the page that comes then
  const again = sendButton('Build again', `POST ${path}/rebuild`, { then })
  return html`${again}
  ${version.status === 'ready' && !version.restored && html`<button type="button" class="button primary" data-open="push">Push</button>${pushDialog(path)}`}`
}

/** How far the build is, or why it did not end well. */
async function buildPanel({ ask, now }: Visit, version: Version): Promise<Panel> {
  const { job_id, error, status } = version
  const job = await ifFound(ask(showJob, { params: { job_id } }))
  const progress = job?.progress
  return {
    isDone: !isUnfinished(version),
    markup: html`<section class="card building">
      <p>
        ${stateBadge(status)} <span class="quiet">asked for ${ago(version.created_at, now)}</span>
      </p>
      ${
        isUnfinished(version) &&
        html`<progress
            max="100"
            value="${progress?.percent ?? 0}"
            aria-label="Progress of the build"
          ></progress>
          <p>
            ${progress?.note ?? 'Waiting for a worker'}${progress?.total && html` <span class="quiet">${count(progress.done)} of ${count(progress.total)} ${progress.unit}</span>`}
          </p>`
      }
      ${error && html`<p class="error"><bdi>${String(error['message'] ?? error['code'])}</bdi></p>`}
      ${status === 'canceled' && html`<p>The build was canceled. The version has no rows.</p>`}
      <p class="quiet">Job <a class="link" href="/console/jobs/${job_id}">${job_id}</a></p>
    </section>`,
  }
}

async function readyVersion(visit: Visit, version: Version): Promise<Markup> {
  const { query } = visit
  const path = pathOf(version)
  if (version.restored) {
    return html`${summary(visit, version)}
      <section class="notice">
        <p>
          This version came from a backup, which has neither its rows nor its files. Build it again.
        </p>
      </section>`
  }
  const view = VIEWS.find(({ name }) => name === query['view']) ?? VIEWS[0]
  const links = VIEWS.filter(({ name }) => name !== 'changes' || version.parent_version_id).map(
    ({ name, title }) => ({
      text: title,
      href: withQuery(path, { view: name }),
      isCurrent: name === view.name,
    }),
  )
  return html`${staleNotice(version)}${warnings(version)}${summary(visit, version)}
  ${tabs('Parts of the version', links)}${await view.show(visit, version)}`
}

const VIEWS = [
  { name: undefined, title: 'Rows', show: rowsView },
  { name: 'changes', title: 'Changes', show: changesView },
  { name: 'files', title: 'Files and pushes', show: filesView },
  { name: 'card', title: 'Card', show: cardView },
] as const

function summary({ now }: Visit, version: Version) {
  const { redaction, options } = version
  return facts({
    Rows: count(version.row_count),
    Tokens: version.token_estimate === null ? undefined : `about ${count(version.token_estimate)}`,
    Type: `${version.dataset_type} · ${version.options.format}`,
    Duplicates: options.dedupe,
    Redaction: redaction ? redacted(redaction) : 'none',
    'Agent versions': html`${version.manifest_ids.slice(0, 3).map((id) => html`<a href="/console/manifests/${id}"><code>${shortId(id)}</code></a> `)}${version.manifest_ids.length > 3 && `and ${version.manifest_ids.length - 3} more`}${version.manifest_ids.length === 0 && 'none'}`,
    'Content hash':
      version.content_hash &&
      html`<code title="${version.content_hash}">${version.content_hash.slice(0, 12)}</code>`,
    Built: ago(version.ready_at, now),
    Job: html`<a href="/console/jobs/${version.job_id}"
      ><code>${shortId(version.job_id)}</code></a
    >`,
  })
}

function redacted({ counts, rows }: NonNullable<Version['redaction']>) {
  const values = Object.values(counts).reduce((sum, n) => sum + n, 0)
  return values === 0 ? 'nothing found' : `${plural(values, 'value')} of ${plural(rows, 'row')}`
}

/** What has happened since to what the rows were made of. */
function staleNotice({ stale }: Version) {
  if (!stale?.is_stale) return ''
  return html`<section class="card told tone-warning" aria-label="Staleness">
    <p><b>This version is stale</b></p>
    <ul>
      ${stale.reasons.map(
        ({ code, count: n, subjects }) =>
          html`<li>
            ${code === 'manifest_superseded' ? `${count(n)} of its agent versions ${n === 1 ? 'is' : 'are'} not active any more` : `${count(n)} traces of its rows are gone`}:
            ${subjects.slice(0, 5).map((id) => (code === 'manifest_superseded' ? html`<a class="link" href="/console/manifests/${id}"><code>${shortId(id)}</code></a> ` : html`<code>${id.slice(0, 40)}</code> `))}
          </li>`,
      )}
    </ul>
    <p class="quiet">Build it again to take the traces of today.</p>
  </section>`
}

function warnings({ warnings: all }: Version) {
  return all.map(
    ({ code, message }) =>
      html`<section class="card told tone-warning" aria-label="Warning">
        <p><b>${message}</b> <code>${code}</code></p>
      </section>`,
  )
}
