import type { AnswerOf } from '../../endpoint.ts'
import type { listVersionPushes } from '../../datasets/list-version-pushes.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ago, shortId, stateBadge } from '../parts.ts'

type Pushes = AnswerOf<typeof listVersionPushes>['pushes']

/** What was sent to a hub, and what became of it. */
export function pushTable(pushes: Pushes, now: Date): Markup {
  return html`<table class="rows">
    <thead>
      <tr>
        <th>Repository</th>
        <th>State</th>
        <th class="num">Files</th>
        <th>Job</th>
        <th class="num">When</th>
      </tr>
    </thead>
    <tbody>
      ${pushes.map(
        (push) =>
          html`<tr>
            <td>
              ${push.commit_url?.startsWith('http') ? html`<a href="${push.commit_url}" rel="noreferrer">${push.repo_id}</a>` : push.repo_id}
              <span class="quiet">${push.revision} · ${push.private ? 'private' : 'public'}</span>
            </td>
            <td>
              ${stateBadge(push.status)}
              ${push.error && html`<p class="error"><bdi>${push.error.message}</bdi></p>`}
            </td>
            <td class="num">
              ${push.files_done} of ${push.files_total ?? '–'}<span class="unit"> files</span>
            </td>
            <td>
              <a href="/console/jobs/${push.job_id}"><code>${shortId(push.job_id)}</code></a>
            </td>
            <td class="num quiet">${ago(push.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

/** Sends the Parquet files and the card to a repository of a hub. */
export function pushDialog(path: string): Markup {
  return html`<dialog id="push" aria-labelledby="push-title">
    <h2 id="push-title">Push to a hub</h2>
    <form class="form" data-send="POST /api/v1${path}/push" data-then="/console/jobs/{id}">
      <label
        >Repository<small>It is made where it is not there.</small
        ><input name="repo_id" required maxlength="193" placeholder="owner/name"
      /></label>
      <label>Branch<input name="revision" maxlength="256" placeholder="main" /></label>
      <label
        >Token<small>Kept sealed until the job ends. Empty: the one of the installation.</small
        ><input name="token" type="password" maxlength="1024" autocomplete="off"
      /></label>
      <label>Message<input name="commit_message" maxlength="500" /></label>
      <label
        >Who may read it<select name="private" data-type="json">
          <option value="true">Only members: private</option>
          <option value="false">Everybody: public</option>
        </select></label
      >
      <label class="check"
        ><input type="checkbox" name="create_pr" value="true" data-type="json" /> Open a pull
        request</label
      >
      <label class="check"
        ><input type="checkbox" name="allow_unredacted" value="true" data-type="json" /> Rows
        without redaction may go where everybody can read them</label
      >
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Push</button
        ><button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}
