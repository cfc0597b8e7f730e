import { INVOCATIONS, MAX_DESCRIPTION, MAX_NAME } from '../../../jobs/rules/skills/skill.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'

/** Makes a skill with its first version. */
export function createSkillDialog(): Markup {
  return html`<dialog id="create-skill" aria-labelledby="create-skill-title">
    <h2 id="create-skill-title">New skill</h2>
    <form class="form" data-send="POST /api/v1/skills" data-then="/console/skills/{id}">
      <label
        >Name<input
          name="name"
          required
          maxlength="${MAX_NAME}"
          pattern="[a-z0-9]+(-[a-z0-9]+)*"
          placeholder="order-lookup"
          autocomplete="off"
          title="Lower-case letters, digits and single inner hyphens"
      /></label>
      <label
        >What it does, and when to use it<input
          name="description"
          required
          maxlength="${MAX_DESCRIPTION}"
      /></label>
      <label>Text, as Markdown<textarea name="body_markdown" rows="9" required></textarea></label>
      <div class="side-by-side">
        <label>Category<input name="category" maxlength="64" /></label>
        <label
          >Started by<select name="invocation">
            <option value="">anybody</option>
            ${INVOCATIONS.filter((who) => who !== 'any').map((who) => html`<option value="${who}">the ${who}</option>`)}
          </select></label
        >
      </div>
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Create</button>
        <button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}
