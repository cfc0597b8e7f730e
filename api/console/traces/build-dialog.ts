import type { AnswerOf } from '../../endpoint.ts'
import type { listDatasets } from '../../datasets/list-datasets.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { withQuery } from '../parts.ts'

/** The filters of the list that a build cannot choose by. */
const UNKNOWN_TO_BUILDS = ['q', 'session_id', 'parent_trace_id', 'max_score'] as const

/**
 * Builds a version of a dataset of what the filter of the list lets through; builds take no list of traces.
 * @param total how many traces there are, in words
 */
export function buildDialog(datasets: Datasets, filter: Query, total: string): Markup {
  const unknown = UNKNOWN_TO_BUILDS.filter((name) => filter[name])
  return html`<dialog id="build" aria-labelledby="build-title">
    <h2 id="build-title">Build a dataset of what matches</h2>
    ${unknown.length > 0 ? cannot(filter) : datasets.length === 0 ? noDataset() : form(datasets, filter, total)}
  </dialog>`
}

function form(datasets: Datasets, filter: Query, total: string) {
  const { agent_name, manifest_id, verdict, status, source_type, tool, tag, min_score } = filter
  const filters = {
    agent_name,
    ...(manifest_id && { manifest_ids: [manifest_id] }),
    ...(verdict && { verdicts: [verdict] }),
    status,
    source_type,
    tool,
    ...(tag && { tags: [tag] }),
    ...(min_score && { min_eval_score: Number(min_score) }),
  }
  const said = { agent_name, manifest_id, verdict, status, source_type, tool, tag, min_score }
  const given = Object.entries(said).filter(([, value]) => value)
  const preset = datasets.find((dataset) => dataset.training_target_agent === agent_name)
  const narrows = [
    !filter['project'] && 'those of the project that the dataset belongs to',
    !agent_name && 'those of the agent that the dataset is for',
    !verdict && 'those to keep or to repair (for dpo and kto: of any verdict)',
  ].filter(Boolean)
  return html`<form
    class="form"
    data-send="POST /api/v1/datasets/{dataset_id}/build"
    data-then="/console/datasets/{dataset_id}/versions/{version_number}"
    data-body="${JSON.stringify({ filters, split: { train: 0.9, validation: 0.1 } })}"
  >
    <p>
      The filter of the list lets ${total} through.
      ${narrows.length > 0 && `Of these, the build takes ${narrows.join(' and ')}.`} Builds choose
      by filter, so a selection makes no difference.
    </p>
    ${given.length > 0 && html`<p>${given.map(([name, value]) => html`<span class="tag">${name.replace('_', ' ')} <bdi>${value}</bdi></span> `)}</p>`}
    <label
      >Dataset<select name="dataset_id">
        ${datasets.map(({ id, name, dataset_type }) => html`<option ${attributes({ value: id, selected: id === preset?.id })}>${name} · ${dataset_type}</option>`)}
      </select></label
    >
    <p class="quiet">
      A tenth of the rows is for validation. The page of the version tells why traces were left out.
    </p>
    <p role="alert" class="error"></p>
    <div class="actions">
      <button class="button primary">Build</button
      ><button type="button" class="button" data-close>Cancel</button>
    </div>
  </form>`
}

function cannot(filter: Query) {
  const without = Object.fromEntries(UNKNOWN_TO_BUILDS.map((name) => [name, undefined]))
  return html`<div class="form">
    <p>
      A build chooses traces by agent, version, verdict, status, source, tool, tag and least score.
      This list is filtered by words, a session, a parent or a highest score, too.
    </p>
    <div class="actions">
      <a class="button primary" href="${withQuery('/console/traces', filter, without)}"
        >List without these filters</a
      ><button type="button" class="button" data-close>Cancel</button>
    </div>
  </div>`
}

function noDataset() {
  return html`<div class="form">
    <p>There is no dataset yet. Make one; a version of it is then built of these traces.</p>
    <div class="actions">
      <a class="button primary" href="/console/datasets">To the datasets</a
      ><button type="button" class="button" data-close>Cancel</button>
    </div>
  </div>`
}

type Datasets = AnswerOf<typeof listDatasets>['datasets']
