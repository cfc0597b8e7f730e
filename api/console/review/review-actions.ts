import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import { sendButton, withQuery } from '../parts.ts'

interface ReviewedTrace {
  readonly trace_id: string
  readonly project: string
  readonly final_output_preview: string | null
}

/**
 * What a person says of a trace, each by a key. All of it takes a flag for review back, so that what keeps
 * the trace in doubt afterwards are its scores.
 */
export function reviewActions(
  { trace_id, project, final_output_preview }: ReviewedTrace,
  { next, back }: { readonly next: string; readonly back: string | undefined },
): Markup {
  const path = withQuery(`/traces/${encodeURIComponent(trace_id)}/annotations`, {
    project: project === 'default' ? undefined : project,
  }) as `/${string}`
  const sayButton = (text: Part, body: object, key: string, kind?: 'primary') =>
    sendButton(text, `POST ${path}`, {
      body: { ...body, flagged_for_review: false },
      then: next,
      key,
      kind: kind ?? '',
    })
  return html`<section class="review-side card" aria-labelledby="your-word">
    <h2 id="your-word">What do you think?</h2>
    ${sayButton('Right as it is', { rating: 5, correctness: true }, 'y', 'primary')}
    <div class="ratings" role="group" aria-label="Rating">
      ${[1, 2, 3, 4, 5].map((rating) => sayButton(html`<span class="visually-hidden">Rate </span>`, { rating }, String(rating)))}
    </div>
    <p class="ends quiet" aria-hidden="true"><span>useless</span><span>perfect</span></p>
    <form
      class="form"
      data-send="POST /api/v1${path}"
      data-then="${next}"
      data-body="${JSON.stringify({ flagged_for_review: false })}"
    >
      <label for="correction"
        ><span
          ><a href="#correction" data-key="c">What should it have answered?</a> <kbd>c</kbd></span
        ><small
          >It settles the doubt: what would be dropped is to be repaired instead, and datasets take
          it in the place of the recorded output.</small
        ></label
      ><textarea
        id="correction"
        name="corrected_output"
        required
        maxlength="100000"
        rows="6"
        placeholder="${final_output_preview?.slice(0, 300)}"
      ></textarea>
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button">Correct <kbd>Ctrl Enter</kbd></button>
        <span class="quiet"><kbd>Esc</kbd> leaves the field</span>
      </div>
    </form>
    <nav aria-label="Traces in doubt" class="actions">
      <a class="button" href="${next}" data-key="s">Skip <kbd>s</kbd></a>
      ${back && html`<a class="button" href="${back}" data-key="u">The one before <kbd>u</kbd></a>`}
    </nav>
  </section>`
}
