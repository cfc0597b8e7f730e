import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'

/** The form that makes a batch; checkboxes of a list are fields of it. */
export const REPLAY_FORM = 'replay-form'

/**
 * Asks which version traces are to run as, and makes a replay batch of them.
 * @param versions newest first. Those of each agent are a choice of their own, of which the module of the
 * selection offers the one that fits
 * @param trace the only one; undefined for those that are selected in a list
 */
export function replayDialog(versions: Versions, trace?: { trace_id: string }): Markup {
  const what = trace ? 'this trace' : 'the selected traces'
  return html`<dialog id="replay" aria-labelledby="replay-title">
    <h2 id="replay-title">Replay ${what}</h2>
    ${versions.length > 0 ? form(versions, trace) : noVersion()}
  </dialog>`
}

function form(versions: Versions, trace: { trace_id: string } | undefined) {
  const agents = [...Map.groupBy(versions, agentKey)]
  return html`<form
    id="${REPLAY_FORM}"
    class="form"
    autocomplete="off"
    data-send="POST /api/v1/replay/batches"
    data-then="/console/replay/{id}"
    ${attributes({ 'data-body': trace && JSON.stringify({ trace_ids: [trace.trace_id] }) })}
  >
    <p class="quiet">
      ${trace ? 'It becomes a task' : 'Each becomes a task'} that a runner of yours claims and runs
      again. The result is compared with what was recorded.
    </p>
    ${agents.map(([key, all]) => versionChoice(key, all, trace === undefined))}
    <label
      >Note<input name="note" maxlength="2000" placeholder="Why, for whoever looks at the batch"
    /></label>
    <p role="alert" class="error"></p>
    <div class="actions">
      <button class="button primary">Replay</button
      ><button type="button" class="button" data-close>Cancel</button>
    </div>
  </form>`
}

function noVersion() {
  return html`<div class="form">
    <p>
      A replay runs recorded traces as a version of their agent. This agent has none yet: register
      its manifest first.
    </p>
    <div class="actions">
      <a class="button primary" href="/console/manifests">To the manifests</a
      ><button type="button" class="button" data-close>Cancel</button>
    </div>
  </div>`
}

/** What the traces of one batch have in common, as one text. */
export function agentKey(agent: AgentOfProject): string {
  return `${agent.project_id} ${agent.agent_name}`
}

/** A fieldset that is disabled sends nothing. */
function versionChoice(key: string, versions: Versions, isHidden: boolean) {
  const preset = versions.find(({ status }) => status === 'active') ?? versions[0]
  return html`<fieldset
    class="plain"
    ${attributes({ 'data-agent': key, hidden: isHidden, disabled: isHidden })}
  >
    <label
      >Run as<select name="target_manifest_id">
        ${versions.map(
          (version) =>
            html`<option
              ${attributes({ value: version.manifest_id, selected: version === preset })}
            >
              ${version.agent_name} ${version.version_label} · ${version.status}
            </option>`,
        )}
      </select></label
    >
  </fieldset>`
}

export interface AgentOfProject {
  readonly project_id: string
  readonly agent_name: string
}
export type Versions = readonly (AgentOfProject & {
  readonly manifest_id: string
  readonly version_label: string
  readonly status: string
})[]
