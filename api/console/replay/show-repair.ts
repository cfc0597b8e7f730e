import type { AnswerOf } from '../../endpoint.ts'
import { showRepair } from '../../replay/show-repair.ts'
import { showTrace } from '../../traces/show-trace.ts'
import type { LlmCall } from '../../../jobs/rules/traces/trace.ts'
import { shareStrip } from '../charts/share-strip.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, count, facts, sendButton, shortId, stateBadge, withQuery } from '../parts.ts'
import { sideBySide } from '../side-by-side.ts'
import { tracePath } from '../traces/trace-path.ts'

export const showRepairPage = page('/replay/repairs/{repair_batch_id}', {
  area: 'replay',
  async show(visit) {
    const { ask, params, mayWrite } = visit
    const repair = await ask(showRepair, { params })
    const path = `/console/replay/repairs/${repair.batch_id}`
    return {
      title: `Repair of ${repair.agent_name}`,
      above: [
        { title: 'Replay', href: '/console/replay' },
        { title: 'Repairs', href: '/console/replay?show=repairs' },
      ],
      beside: mayWrite ? applyAgain(repair) : undefined,
      body: html`${livePanel(`${path}/events`, panelOf(visit, repair))}
      ${await beforeAndAfter(visit, repair, path)} ${failures(repair)}`,
    }
  },
})

export const repairEvents = panelEvents('/replay/repairs/{repair_batch_id}/events', async (visit) =>
  panelOf(visit, await visit.ask(showRepair, { params: visit.params })),
)

function panelOf({ now }: Visit, repair: Repair): Panel {
  const manifest = (id: string) =>
    html`<a href="/console/manifests/${id}"><code>${shortId(id)}</code></a>`
  const { repaired_count, skipped_count, failed_count, approved_rule_indices: approved } = repair
  const markup = html`${facts({
      State: stateBadge(repair.status),
      From: manifest(repair.old_manifest_id),
      To: manifest(repair.new_manifest_id),
      Rules: approved === null ? 'all' : `${count(approved.length)} approved`,
      'Made by': html`<a href="/console/jobs/${repair.job_id}">job</a>`,
      Made: ago(repair.created_at, now),
      Ended: repair.completed_at && ago(repair.completed_at, now),
    })}
    <section aria-labelledby="counts">
      <h2 id="counts">Traces that the rules may repair</h2>
      ${
        repair.total_episodes > 0
          ? shareStrip('Traces', [
              { word: 'repaired', n: repaired_count, tone: 'good' },
              {
                word: 'skipped: they need a rule that was not approved',
                n: skipped_count,
                tone: 'warning',
              },
              { word: 'failed', n: failed_count, tone: 'bad' },
            ])
          : html`<p class="quiet">
              ${repair.completed_at ? 'No trace of the older version needs a rule.' : 'None so far.'}
            </p>`
      }
    </section>
    ${repair.rules_applied.length > 0 && ruleTable(repair.rules_applied)}`
  return { markup, isDone: repair.status !== 'queued' && repair.status !== 'running' }
}

function ruleTable(rules: Repair['rules_applied']) {
  return html`<section aria-labelledby="rules">
    <h2 id="rules">Rules that were applied</h2>
    <table class="rows">
      <thead>
        <tr>
          <th>Rule</th>
          <th>Of</th>
          <th>What it does</th>
          <th class="num">Traces</th>
        </tr>
      </thead>
      <tbody>
        ${rules.slice(0, MAX_RULES).map(
          (rule) =>
            html`<tr>
              <td>
                <span class="quiet">${rule.rule_index}</span> ${rule.rule_type.replaceAll('_', ' ')}
              </td>
              <td>
                <code><bdi>${rule.component_name}</bdi></code>
              </td>
              <td><bdi>${describe(rule)}</bdi></td>
              <td class="num">${count(rule.used_by)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${rules.length > MAX_RULES && html`<p class="quiet">The first ${MAX_RULES} of ${count(rules.length)}.</p>`}
  </section>`
}

function describe({ rule_type, component_name, details }: Repair['rules_applied'][number]) {
  const { from, to, param, value, type } = details
  switch (rule_type) {
    case 'rename_tool':
      return `${component_name} is called ${to ?? ''}`
    case 'rename_param':
      return `${from ?? ''} is called ${to ?? ''}`
    case 'drop_param':
      return `${param ?? ''} is left out`
    case 'add_default':
      return `${param ?? ''} is set to ${(JSON.stringify(value) ?? '').slice(0, 200)}`
    case 'coerce':
      return `${param ?? ''} becomes a ${type ?? ''}`
  }
}

/** One trace as it was recorded, and as it was repaired: that of the address, else the first. */
async function beforeAndAfter(
  { ask, query }: Visit,
  { repaired_trace_ids: ids, new_manifest_id, project_id }: Repair,
  path: string,
): Promise<Markup | undefined> {
  const chosen = query['trace_id'] ?? ids[0]
  if (chosen === undefined) return undefined
  const read = (revision: string | undefined) =>
    ifFound(
      ask(showTrace, {
        params: { trace_id: chosen },
        query: { project: project_id, fields: 'llm_calls', revision },
      }),
    )
  const [before, after] = await Promise.all([read(undefined), read(new_manifest_id)])
  return html`<section aria-labelledby="compared">
    <h2 id="compared">
      Before and after of
      <a href="${tracePath({ trace_id: chosen, project: project_id })}"><bdi>${chosen}</bdi></a>
    </h2>
    ${
      ids.length > 1 &&
      html`<nav class="chips" aria-label="Repaired traces">
        ${ids.slice(0, MAX_LINKS).map((id) => html`<a href="${withQuery(path, { trace_id: id })}#compared" ${id === chosen && html`aria-current="true"`}><bdi>${id.slice(0, 40)}</bdi></a>`)}
      </nav>`
    }
    ${after?.llm_calls && before?.llm_calls ? sideBySide(textOf(before.llm_calls), textOf(after.llm_calls), ['As recorded', 'As repaired']) : html`<p class="quiet">The trace was changed or deleted since, or a later repair took it over.</p>`}
  </section>`
}

/** What rules change of calls, a member a line: tools that are called with their arguments, and answers. */
function textOf(calls: readonly LlmCall[]) {
  return calls
    .map(({ rendered_input, output, tool_calls }) =>
      JSON.stringify({ rendered_input, output, tool_calls }, null, 2),
    )
    .join('\n')
}

function failures({ failures, project_id: project }: Repair) {
  if (failures.length === 0) return undefined
  return html`<section aria-labelledby="failures">
    <h2 id="failures">Traces that could not be repaired</h2>
    <table class="rows" data-rows>
      <thead>
        <tr>
          <th>Trace</th>
          <th>Why</th>
        </tr>
      </thead>
      <tbody>
        ${failures.slice(0, MAX_FAILURES).map(
          ({ trace_id, code }) =>
            html`<tr>
              <td>
                <a data-row href="${tracePath({ trace_id, project })}"><bdi>${trace_id}</bdi></a>
              </td>
              <td><code>${code}</code></td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${failures.length > MAX_FAILURES && html`<p class="quiet">The first ${MAX_FAILURES}; <code>GET /api/v1/repair/…</code> has more.</p>`}
  </section>`
}

/** For traces that came since, and for those that need a rule that was not approved. */
function applyAgain({ status, old_manifest_id, new_manifest_id, rules_hash }: Repair) {
  if (status === 'queued' || status === 'running') return undefined
  return sendButton('Apply all rules again', 'POST /repair/apply', {
    body: { old_manifest_id, new_manifest_id, rules_hash },
    then: '/console/replay/repairs/{batch_id}',
  })
}

const MAX_RULES = 100
const MAX_FAILURES = 100
const MAX_LINKS = 20

type Repair = AnswerOf<typeof showRepair>
