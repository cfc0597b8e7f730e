import type { AnswerOf } from '../../endpoint.ts'
import { listImportErrors } from '../../import/list-import-errors.ts'
import { showImport } from '../../import/show-import.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { page } from '../page.ts'
import type { Query, Visit } from '../page.ts'
import {
  ago,
  amount,
  count,
  duration,
  facts,
  plural,
  sendButton,
  shortId,
  stateBadge,
  withQuery,
} from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'

type Import = AnswerOf<typeof showImport>

export const showImportPage = page('/imports/{import_id}', {
  area: 'imports',
  async show(visit) {
    const { ask, params, query, now, mayWrite } = visit
    const { code, cursor } = query
    const [item, errors] = await Promise.all([
      ask(showImport, { params }),
      ask(listImportErrors, { params, query: { code, cursor, limit: 25 } }),
    ])
    const path = `/console/imports/${item.id}`
    return {
      title: `Import ${item.source} ${item.id.slice(-8)}`,
      above: [{ title: 'Imports', href: '/console/imports' }],
      beside:
        mayWrite && isUnfinished(item)
          ? sendButton('Cancel', `POST /import/${item.id}/cancel`, {
              kind: 'danger',
              confirm: 'Cancel the import? What has come stays.',
            })
          : undefined,
      body: html`${facts(factsOf(item, now))} ${livePanel(`${path}/events`, panelOf(item))}
      ${'errors' in errors && errorList(errors, path, query)}`,
    }
  },
})

export const importEvents = panelEvents('/imports/{import_id}/events', async (visit: Visit) =>
  panelOf(await visit.ask(showImport, { params: visit.params })),
)

function factsOf(item: Import, now: Date) {
  const { connection, started_at, finished_at } = item
  return {
    Format: item.source,
    From: connection && html`<bdi>${connection.project}</bdi> of ${connection.base_url}`,
    'Agent of nameless records': item.agent_name,
    'Dry run': item.dry_run && 'yes: nothing is stored',
    Job: html`<a href="/console/jobs/${item.job_id}"><code>${shortId(item.job_id)}</code></a>`,
    Begun: ago(item.created_at, now),
    Took: started_at && finished_at ? duration(finished_at.getTime() - started_at.getTime()) : '',
  }
}

/** How far the import is and what has come of it; live until it ends. */
function panelOf(item: Import): Panel {
  const { progress, error, capped_at_line, incomplete_trace_ids: incomplete } = item
  const isRunning = isUnfinished(item)
  return {
    isDone: !isRunning,
    markup: html`<section class="card building" aria-label="Progress">
        <p>
          ${stateBadge(item.status)}
          <span class="quiet"
            >${plural(progress.lines, 'line')} ·
            ${amount(progress.bytes, 'bytes')}${progress.bytes_total !== null && ` of ${amount(progress.bytes_total, 'bytes')}`}</span
          >
        </p>
        ${isRunning && html`<progress${attributes({ max: progress.bytes_total ?? 1, value: progress.bytes_total === null ? undefined : Math.min(progress.bytes, progress.bytes_total), 'aria-label': 'Progress of the import' })}></progress>`}
        ${progress.note && html`<p><bdi>${progress.note}</bdi></p>`}
        ${error && html`<p class="error"><bdi>${error.message}</bdi> <code>${error.code}</code></p>`}
        ${capped_at_line !== null && html`<p class="error">The quota was used up at line ${count(capped_at_line)}. Import the file again when there is room: what has come is skipped.</p>`}
        ${tally(item)}
        ${item.status === 'succeeded' && item.imported_count > 0 && !item.dry_run && html`<p><a class="link" href="/console/traces">See the traces</a></p>`}
      </section>
      ${lossList(item.losses)}
      ${incomplete.length > 0 && incompleteTraces(incomplete, item.project_id ?? undefined)}`,
  }
}

function tally({ imported_count, skipped_count, scores_imported, error_count }: Import) {
  const figures = [
    [imported_count, 'imported', imported_count > 0 ? 'good' : 'plain'],
    [skipped_count, 'known already', 'plain'],
    [scores_imported, 'scores', 'plain'],
    [error_count, 'records with an error', error_count > 0 ? 'bad' : 'plain'],
  ] as const
  return html`<ul class="tally">
    ${figures.map(
      ([n, text, tone]) => html`<li class="tone-${tone}"><b>${count(n)}</b> ${text}</li> `,
    )}
  </ul>`
}

function lossList(losses: Import['losses']) {
  const all = Object.entries(losses).sort(([, a], [, b]) => b - a)
  if (all.length === 0) return ''
  return html`<section aria-labelledby="losses">
    <h2 id="losses">What could not be kept</h2>
    <p class="quiet">The traces are there; this of what the source told is not.</p>
    ${bars(all.map(([code, n]) => ({ text: html`${LOSSES[code] ?? code.replaceAll('_', ' ')} <code class="quiet">${code}</code>`, n })))}
  </section>`
}

function incompleteTraces(ids: readonly string[], project: string | undefined) {
  return html`<section aria-labelledby="incomplete">
    <h2 id="incomplete">Traces with missing parts</h2>
    <p class="quiet">
      Delete them before all of the file is imported, because traces that are there are skipped.
    </p>
    <p>
      ${ids.slice(0, 50).map((id) => html`<a class="link" href="${tracePath({ trace_id: id, project })}"><code>${id}</code></a> `)}${ids.length > 50 && html`<span class="quiet">and ${count(ids.length - 50)} more</span>`}
    </p>
  </section>`
}

function errorList(
  { errors, by_code, next_cursor }: ErrorList,
  path: string,
  query: Query,
): Markup {
  const codes = Object.entries(by_code)
  if (codes.length === 0) return html``
  const { code: chosen } = query
  return html`<section aria-labelledby="errors">
    <h2 id="errors">What was not imported</h2>
    ${bars(codes.map(([code, n]) => ({ n, isCurrent: code === chosen, href: withQuery(path, { code: code === chosen ? undefined : code }), text: code.replaceAll(/[._]/g, ' ') })))}
    <div class="filters">
      ${chosen && html`<a class="tag" href="${path}" title="Take this filter away">${chosen} ✕</a>`}
      <a
        class="link"
        href="/api/v1${path.replace('/console/imports', '/import')}/errors?format=jsonl"
        download
        >All errors as JSON Lines</a
      >
    </div>
    <table class="rows keep-table">
      <thead>
        <tr>
          <th class="num">Line</th>
          <th>Error</th>
        </tr>
      </thead>
      <tbody>
        ${errors.map(
          ({ line, code, message }) =>
            html`<tr>
              <td class="num quiet">${count(line)}</td>
              <td>
                <code>${code}</code>
                <p><bdi>${message.slice(0, 500)}</bdi></p>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
    <nav class="pager" aria-label="Pages">
      ${query['cursor'] && html`<a class="button" href="${withQuery(path, query, { cursor: undefined })}">First lines</a>`}${next_cursor && html`<a class="button" rel="next" href="${withQuery(path, query, { cursor: next_cursor })}">Further lines</a>`}
    </nav>
  </section>`
}

/** Counts side by side, each with a bar against the largest. */
function bars(all: readonly Bar[]) {
  const most = Math.max(...all.map(({ n }) => n))
  return html`<ul class="counts">
    ${all.slice(0, 30).map(({ text, n, href, isCurrent = false }) => {
      const width = Math.max(0.5, (n / most) * 100).toFixed(2)
      return html`<li>
        ${href ? html`<a href="${href}" ${attributes({ 'aria-current': isCurrent && 'true' })}>${text}</a>` : html`<span>${text}</span>`}
        <b>${count(n)}</b>
        <svg width="100%" height="8" aria-hidden="true">
          <rect class="track" width="100%" height="8" rx="3" />
          <rect class="fill" width="${width}%" height="8" rx="3" />
        </svg>
      </li>`
    })}
  </ul>`
}

function isUnfinished({ status }: Import) {
  return status === 'queued' || status === 'running'
}

const LOSSES: Readonly<Record<string, string>> = {
  score_value_clipped: 'scores beyond their scale were clipped',
  score_text_cut: 'texts of scores were cut',
  score_without_trace: 'scores of traces that are not there',
  attachment_dropped: 'attachments',
  media_dropped: 'images and other media',
  comment_dropped: 'comments',
  members_dropped: 'metadata beyond 16 KiB',
  message_part_kept_as_text: 'parts of messages kept as text',
  time_invalid: 'times that cannot be read',
  cost_currency: 'costs in another currency',
  entries_skipped: 'entries of the archive that hold no records',
}

interface Bar {
  readonly text: Markup | string
  readonly n: number
  readonly href?: string
  readonly isCurrent?: boolean
}
type ErrorList = Extract<AnswerOf<typeof listImportErrors>, { readonly errors: unknown }>
