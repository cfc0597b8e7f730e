import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Check } from './check-impacts.ts'

/** Accept and reject, each with a note that says why. */
export function decideButtons({
  id,
  human_decision,
  candidate_manifest_label: label,
}: Check): Markup {
  const path = `/api/v1/regression-check/${id}/decision`
  return html`${
    human_decision !== 'rejected' &&
    decision(path, {
      name: 'reject',
      text: 'Reject',
      title: `Reject ${label}?`,
      told: 'It stays a draft, unless production traffic runs it.',
      body: 'rejected',
      kind: '',
    })
  }${
    human_decision !== 'accepted' &&
    decision(path, {
      name: 'accept',
      text: 'Accept',
      title: `Accept ${label}?`,
      told: 'A draft becomes the active version, which later checks compare with.',
      body: 'accepted',
      kind: 'primary',
    })
  }`
}

function decision(path: string, { name, text, title, told, body, kind }: Choice) {
  return html`<button type="button" class="button ${kind}" data-open="${name}">${text}</button>
    <dialog id="${name}" aria-labelledby="${name}-title">
      <h2 id="${name}-title">${title}</h2>
      <form
        class="form"
        data-send="POST ${path}"
        data-body="${JSON.stringify({ human_decision: body })}"
      >
        <p>${told}</p>
        <label>Why?<textarea name="note" maxlength="4000"></textarea></label>
        <p role="alert" class="error"></p>
        <div class="actions">
          <button class="button primary">${text}</button
          ><button type="button" class="button" data-close>Cancel</button>
        </div>
      </form>
    </dialog>`
}

interface Choice {
  readonly name: string
  readonly text: string
  readonly title: string
  readonly told: string
  readonly body: 'accepted' | 'rejected'
  readonly kind: 'primary' | ''
}
