import { diffVersions } from '../../datasets/diff-versions.ts'
import { listVersionPushes } from '../../datasets/list-version-pushes.ts'
import { showCard } from '../../datasets/show-card.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Visit } from '../page.ts'
import { amount, badge, count, shortId, withQuery } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'
import { pushTable } from './pushes.ts'
import type { Version } from './version.ts'

type Diff = AnswerOf<typeof diffVersions>

/** What this version changed against the one that it was built after. */
export async function changesView({ ask }: Visit, version: Version): Promise<Markup> {
  const { dataset_id, id, project_id } = version
  const diff = await ask(diffVersions, { params: { dataset_id }, query: { to: id } })
  const parts = [
    { title: 'Added', part: diff.added, tone: 'good' },
    { title: 'Removed', part: diff.removed, tone: 'bad' },
    { title: 'Changed', part: diff.changed, tone: 'warning' },
    { title: 'Unchanged', part: diff.unchanged, tone: 'plain' },
  ] as const
  return html`<section aria-labelledby="changes">
      <h2 id="changes">From ${diff.from.version_label} to ${diff.to.version_label}</h2>
      <ul class="cards changes">
        ${parts.map(
          ({ title, part, tone }) =>
            html`<li class="card">
              <p class="tone-${part.count === 0 ? 'plain' : tone}">
                <b class="big">${count(part.count)}</b> ${title.toLowerCase()}
                ${title === 'Changed' ? 'traces' : 'rows'}
              </p>
              ${samples(part.samples, project_id)}
            </li>`,
        )}
      </ul>
      <p>
        ${diff.split_moves === 0 ? badge('✓ no trace changed its split', 'good') : badge(`${count(diff.split_moves)} traces changed their split`, diff.same_splits ? 'bad' : 'warning')}
        <span class="quiet"
          >${diff.same_splits ? 'Seed and fractions are equal.' : 'Seed or fractions differ.'}</span
        >
      </p>
    </section>
    ${recipeChanges(diff)}`
}

function samples(all: Diff['added']['samples'], project: string) {
  if (all.length === 0) return html`<p class="quiet">No trace</p>`
  return html`<ul>
    ${all.slice(0, 6).map(
      ({ trace_id, split_from, split_to }) =>
        html`<li>
          <a class="link" href="${tracePath({ trace_id, project })}"
            ><code>${trace_id.slice(0, 48)}</code></a
          >
          <span class="quiet">${split_to ?? split_from}</span>
        </li>`,
    )}
  </ul>`
}

function recipeChanges({ filter_changes, option_changes, manifest_changes }: Diff) {
  const changes = [...filter_changes, ...option_changes]
  const manifests = [
    ...manifest_changes.added.map((id) => ({ id, sign: '+' })),
    ...manifest_changes.removed.map((id) => ({ id, sign: '−' })),
  ].slice(0, 40)
  return html`<section aria-labelledby="recipe">
    <h2 id="recipe">What was asked for</h2>
    ${
      changes.length === 0
        ? html`<p class="quiet">
            Filters and options are the same: what differs came with the traces.
          </p>`
        : html`<table class="rows keep-table">
            <thead>
              <tr>
                <th>Member</th>
                <th>Before</th>
                <th>Now</th>
              </tr>
            </thead>
            <tbody>
              ${changes.map(
                ({ path, from, to }) =>
                  html`<tr>
                    <td><code>${path}</code></td>
                    <td><bdi>${written(from)}</bdi></td>
                    <td><bdi>${written(to)}</bdi></td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    ${
      manifests.length > 0 &&
      html`<h3>Agent versions</h3>
        <p>
          ${manifests.map(({ id, sign }) => html`${sign} <a class="link" href="/console/manifests/${id}"><code>${shortId(id)}</code></a> `)}
        </p>`
    }
  </section>`
}

function written(value: unknown) {
  return (JSON.stringify(value) ?? 'none').slice(0, 300)
}

/** The files of a version to be downloaded, and the pushes of it. */
export async function filesView({ ask, params, now }: Visit, version: Version): Promise<Markup> {
  const { pushes } = await ask(listVersionPushes, { params, query: { limit: 20 } })
  const path = `/api/v1/datasets/${version.dataset_id}/versions/${version.version_number}/export`
  const files = version.files.slice(0, MAX_FILES)
  return html`<section aria-labelledby="files">
      <h2 id="files">Files</h2>
      <p class="actions">
        <a class="button primary" href="${path}" download>All rows as JSON Lines</a>
      </p>
      <table class="rows files">
        <thead>
          <tr>
            <th>File</th>
            <th>Split</th>
            <th class="num">Rows</th>
            <th class="num">Size</th>
            <th>SHA-256</th>
          </tr>
        </thead>
        <tbody>
          ${files.map(
            ({ format, split, shard, path: name, row_count, size_bytes, sha256 }) =>
              html`<tr>
                <td>
                  <a
                    class="link"
                    download
                    href="${withQuery(path, { format, split, shard: String(shard) })}"
                    ><code>${name}</code></a
                  >
                </td>
                <td>${split}</td>
                <td class="num">${count(row_count)}<span class="unit"> rows</span></td>
                <td class="num">${amount(size_bytes, 'bytes')}</td>
                <td><code class="quiet" title="${sha256}">${sha256.slice(0, 12)}</code></td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${version.files.length > files.length && html`<p class="quiet">The first ${MAX_FILES} of ${count(version.files.length)} files are shown; the version lists all as <code>files</code>.</p>`}
    </section>
    <section aria-labelledby="pushes">
      <h2 id="pushes">Pushes</h2>
      ${pushes.length === 0 ? html`<p class="quiet">The version was not pushed to a hub.</p>` : pushTable(pushes, now)}
    </section>`
}

/** The card as hubs show it, in Markdown. */
export async function cardView({ ask, params }: Visit): Promise<Markup> {
  const card = await ask(showCard, { params })
  return html`<section aria-labelledby="card">
    <h2 id="card">Dataset card</h2>
    <div class="command">
      <pre tabindex="0" aria-label="The card in Markdown" class="card-text">
${card.slice(0, MAX_CARD)}</pre>
      <button type="button" class="button small" data-copy>Copy</button>
    </div>
  </section>`
}

const MAX_FILES = 100
const MAX_CARD = 40_000
