import type { AnswerOf } from '../../endpoint.ts'
import { listAgents } from '../../manifests/list-agents.ts'
import { listReplayBatches } from '../../replay/list-batches.ts'
import { listRepairs } from '../../replay/list-repairs.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import {
  ago,
  choice,
  count,
  curlLine,
  emptyState,
  hiddenProject,
  pager,
  shortId,
  stateBadge,
  tabs,
  withQuery,
} from '../parts.ts'

const PATH = '/console/replay'
const STATUSES = ['pending', 'running', 'completed', 'canceled']

export const listReplaysPage = page('/replay', {
  area: 'replay',
  async show(visit) {
    const { query } = visit
    const isRepairs = query['show'] === 'repairs'
    const { project } = query
    const links = [
      { text: 'Replay batches', href: withQuery(PATH, { project }), isCurrent: !isRepairs },
      {
        text: 'Repairs',
        href: withQuery(PATH, { project, show: 'repairs' }),
        isCurrent: isRepairs,
      },
    ]
    return {
      title: 'Replay',
      body: html`${tabs('Replays and repairs', links)}
      ${isRepairs ? await repairs(visit) : await batches(visit)}`,
    }
  },
})

async function batches({ ask, query, now, address }: Visit): Promise<Markup> {
  const { project, agent_name, status, cursor } = query
  const filter = { project, agent_name, status }
  const [list, { agents }] = await Promise.all([
    ask(listReplayBatches, { query: { ...filter, cursor, limit: 50 } }),
    ask(listAgents, { query: { project, limit: 100 } }),
  ])
  const isFiltered = agent_name || status
  if (list.batches.length === 0 && !isFiltered) return noBatches(address)
  const names = new Set(agents.map((agent) => agent.agent_name))
  if (agent_name) names.add(agent_name)
  return html`<form class="filters" action="${PATH}">
      ${choice('agent_name', 'Agent', [...names], agent_name)}
      ${choice('status', 'State', STATUSES, status)} ${hiddenProject(project)}
      <button class="button">Filter</button>
      ${isFiltered && html`<a class="link" href="${withQuery(PATH, { project })}">Clear</a>`}
      <span class="total">${count(list.total)} ${list.total === 1 ? 'batch' : 'batches'}</span>
    </form>
    ${list.batches.length > 0 ? batchTable(list.batches, now) : emptyState('No batch matches', 'Take a filter away.')}
    ${pager(PATH, query, list.next_cursor)}`
}

function batchTable(list: Batches, now: Date) {
  return html`<table class="rows" data-rows>
    <thead>
      <tr>
        <th>State</th>
        <th>Batch</th>
        <th>Progress</th>
        <th class="num">Win</th>
        <th class="num">Tie</th>
        <th class="num">Loss</th>
        <th class="num">Score change</th>
        <th class="num">Made</th>
      </tr>
    </thead>
    <tbody>
      ${list.map(
        (batch) =>
          html`<tr>
            <td>
              ${stateBadge(batch.status)}${isOpen(batch) && batch.paused_reason !== null && html`<p class="error">paused</p>`}
            </td>
            <td>
              <a data-row href="${PATH}/${batch.id}"><b>${batch.agent_name}</b></a>
              <p class="quiet">
                <bdi>${(batch.note || `${batch.mode} · ${shortId(batch.id)}`).slice(0, 120)}</bdi>
              </p>
            </td>
            <td>${progressOf(batch)}</td>
            <td class="num"><span class="only-narrow">wins </span>${count(batch.wins)}</td>
            <td class="num"><span class="only-narrow">ties </span>${count(batch.ties)}</td>
            <td class="num"><span class="only-narrow">losses </span>${count(batch.losses)}</td>
            <td class="num">${changeOf(batch.mean_score_delta)}</td>
            <td class="num quiet">${ago(batch.created_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

function progressOf({ counts, total }: Batches[number]) {
  const open = counts.pending + counts.leased
  if (total === 0) return html`<span class="quiet">no tasks yet</span>`
  return html`<progress
      aria-label="Tasks that have ended"
      max="${total}"
      value="${total - open}"
    ></progress>
    <span class="quiet">${count(total - open)} of ${count(total)}</span>`
}

/** Tasks of it may still be made, sent or submitted. */
export function isOpen({ status }: Pick<Batches[number], 'status'>): boolean {
  return status === 'pending' || status === 'running'
}

/** A difference of scores with its sign, coloured by its direction. */
export function changeOf(delta: number | null): Markup {
  if (delta === null) return html`<span class="quiet" aria-label="none">–</span>`
  const sign = delta > 0 ? '+' : delta < 0 ? '−' : '±'
  return html`<span class="change ${delta > 0 ? 'up' : delta < 0 ? 'down' : ''}"
    >${sign}${Math.abs(delta).toFixed(2)}</span
  >`
}

async function repairs({ ask, query, now, address }: Visit): Promise<Markup> {
  const { project, cursor } = query
  const list = await ask(listRepairs, { query: { project, cursor, limit: 50 } })
  if (list.batches.length === 0) return noRepairs(address)
  return html`<table class="rows" data-rows>
      <thead>
        <tr>
          <th>State</th>
          <th>Repair</th>
          <th class="num">Repaired</th>
          <th class="num">Skipped</th>
          <th class="num">Failed</th>
          <th>Rules</th>
          <th class="num">Made</th>
        </tr>
      </thead>
      <tbody>
        ${list.batches.map(
          (batch) =>
            html`<tr>
              <td>${stateBadge(batch.status)}</td>
              <td>
                <a data-row href="${PATH}/repairs/${batch.batch_id}"><b>${batch.agent_name}</b></a>
                <p class="quiet">
                  <code>${shortId(batch.old_manifest_id)}</code> →
                  <code>${shortId(batch.new_manifest_id)}</code>
                </p>
              </td>
              <td class="num">
                <span class="only-narrow">repaired </span>${count(batch.repaired_count)}
              </td>
              <td class="num">
                <span class="only-narrow">skipped </span>${count(batch.skipped_count)}
              </td>
              <td class="num">
                <span class="only-narrow">failed </span>${count(batch.failed_count)}
              </td>
              <td>
                ${batch.approved_rule_indices === null ? 'all' : `${batch.approved_rule_indices.length} approved`}
              </td>
              <td class="num quiet">${ago(batch.created_at, now)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${pager(PATH, query, list.next_cursor)}`
}

function noBatches(address: string) {
  return emptyState(
    'Nothing is replayed yet',
    html`A replay runs recorded traces again as another version of their agent, and tells which of
      them got better. Choose traces in
      <a class="link" href="/console/traces?verdict=replay">the list of those to replay</a>, or make
      a batch of all of them:`,
    curlLine(address, 'POST /replay/batches', {
      target_manifest_id: 'ID_OF_A_MANIFEST',
      filters: { verdicts: ['replay'] },
    }),
  )
}

function noRepairs(address: string) {
  return emptyState(
    'Nothing is repaired yet',
    'A repair patches recorded traces of an older version so that they fit a newer one. The traces stay as they are; the repaired content stands beside each.',
    curlLine(address, 'POST /repair/apply', {
      old_manifest_id: 'ID_OF_A_MANIFEST',
      new_manifest_id: 'ID_OF_A_NEWER_ONE',
    }),
  )
}

type Batches = AnswerOf<typeof listReplayBatches>['batches']
