import { html } from '../html.ts'
import type { Markup } from '../html.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** The form of a new key, and where the key is shown once it is made. */
export function createKeyDialogs(within: {
  readonly projects: readonly Named[]
  readonly workspaces: readonly Named[]
}): Markup {
  return html`<dialog id="create-key" aria-labelledby="create-key-title">
      <h2 id="create-key-title">New key</h2>
      <form class="form" data-send="POST /api/v1/api-keys" data-show="made-key">
        <label>Label<input name="label" required maxlength="128" placeholder="ci" /></label>
        <label
          >It may<select name="permissions">
            <option value="read">read</option>
            <option value="write">read and write</option>
            <option value="admin">read, write, delete and administer</option>
          </select></label
        >
        <label
          >In<select name="scope">
            <option value="global">the whole organization</option>
            <option value="workspace">one workspace</option>
            <option value="project">one project</option>
          </select></label
        >
        ${place('workspace', within.workspaces)} ${place('project', within.projects)}
        <label>Until<input type="date" name="expires_at" /><small>Empty: for good</small></label>
        <p role="alert" class="error"></p>
        <div class="actions">
          <button class="button primary">Make the key</button
          ><button type="button" class="button" data-close>Cancel</button>
        </div>
      </form>
    </dialog>
    <dialog id="made-key" aria-labelledby="made-key-title">
      <h2 id="made-key-title">Your new key <bdi data-member="label"></bdi></h2>
      <p class="held">Copy it now: it is never shown again.</p>
      <div class="command">
        <pre data-member="raw_key" tabindex="0" aria-label="The new key"></pre>
        <button type="button" class="button small" data-copy>Copy</button>
      </div>
      <div class="actions">
        <button type="button" class="button primary" data-close>Done</button>
      </div>
    </dialog>`
}

/** Shown by the style sheet where the scope asks for it; the service looks at it only then, too. */
function place(scope: 'workspace' | 'project', choices: readonly Named[]) {
  return html`<label class="of-${scope}"
    >${scope === 'project' ? 'Project' : 'Workspace'}<select name="${scope}_id">
      ${choices.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
    </select></label
  >`
}
