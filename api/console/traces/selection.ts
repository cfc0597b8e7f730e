import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { agentKey, REPLAY_FORM } from './replay-dialog.ts'
import type { AgentOfProject } from './replay-dialog.ts'

/** Selects a trace. The box is a field of the form that replays. */
export function pickBox(trace: AgentOfProject & { readonly trace_id: string }): Markup {
  const { trace_id } = trace
  return html`<label
    ><input
      ${attributes({
        type: 'checkbox',
        name: 'trace_ids',
        value: trace_id,
        form: REPLAY_FORM,
        'data-type': 'each',
        'data-agent': agentKey(trace),
        'aria-label': `Select ${trace_id}`,
      })}
  /></label>`
}

/** Selects all traces of the page, or none. */
export function pickAll(): Markup {
  return html`<label
    ><input type="checkbox" data-pick="page" aria-label="Select all on this page"
  /></label>`
}

/**
 * What can be done with the traces that are selected; hidden while none is.
 * @param areAllOffered the dialog that replays offers all versions of the agents that are listed
 */
export function selectionBar({ areAllOffered }: { areAllOffered: boolean }): Markup {
  return html`<section
    class="selection"
    aria-label="Selection"
    data-selection
    ${attributes({ 'data-further-versions': !areAllOffered })}
    hidden
  >
    <output></output>
    <button type="button" class="link" data-pick="all">Select all on this page</button>
    <button type="button" class="link" data-pick="none" data-key="Escape">Clear</button>
    <span class="does"
      ><button type="button" class="button" data-open="build">
        Build a dataset of all that match</button
      ><button type="button" class="button primary" data-open="replay">Replay</button></span
    >
  </section>`
}
