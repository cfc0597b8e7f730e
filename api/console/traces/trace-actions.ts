import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { sendButton, withQuery } from '../parts.ts'
import { replayDialog } from './replay-dialog.ts'
import type { Versions } from './replay-dialog.ts'

interface ActedTrace {
  readonly trace_id: string
  readonly project: string
  readonly status: string
  readonly final_output_preview: string | null
}

/**
 * What a person can do with a trace: have it judged again, run it as another version, say what they think,
 * correct its output.
 * @param versions of its agent, newest first
 */
export function traceActions(trace: ActedTrace, versions: Versions): Markup {
  const path = (name: string) =>
    withQuery(`/traces/${encodeURIComponent(trace.trace_id)}/${name}`, {
      project: trace.project === 'default' ? undefined : trace.project,
    }) as `/${string}`
  const hasEnded = trace.status !== 'running'
  return html`${hasEnded && sendButton('Judge again', `POST ${path('decision')}`)}
    ${hasEnded && html`<button type="button" class="button" data-open="replay">Replay</button>${replayDialog(versions, trace)}`}
    <button type="button" class="button primary" data-open="annotate">Annotate</button>
    ${annotateDialog(`/api/v1${path('annotations')}`, trace)}`
}

function annotateDialog(action: string, { final_output_preview }: ActedTrace) {
  return html`<dialog id="annotate" aria-labelledby="annotate-title">
    <h2 id="annotate-title">What do you think of this trace?</h2>
    <form class="form" data-send="POST ${action}">
      <fieldset class="rating">
        <legend>Rating</legend>
        ${[1, 2, 3, 4, 5].map((n) => html`<label><input type="radio" name="rating" value="${n}" data-type="number" /> ${n}</label>`)}
      </fieldset>
      <label
        >What should it have answered?<small
          >With a corrected output a trace that would be dropped is to be repaired instead; datasets
          take it in the place of the recorded one.</small
        ><textarea
          name="corrected_output"
          maxlength="100000"
          placeholder="${final_output_preview?.slice(0, 300)}"
        ></textarea>
      </label>
      <label>Notes<textarea name="notes" maxlength="10000"></textarea></label>
      <label class="check"
        ><input type="checkbox" name="flagged_for_review" value="true" data-type="json" /> Somebody
        else should look at it</label
      >
      <p role="alert" class="error"></p>
      <div class="actions">
        <button class="button primary">Save</button
        ><button type="button" class="button" data-close>Cancel</button>
      </div>
    </form>
  </dialog>`
}
