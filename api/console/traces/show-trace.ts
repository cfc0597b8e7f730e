import { notFound } from '../../errors.ts'
import { showBreakdown } from '../../evals/show-breakdown.ts'
import { showDecision } from '../../evals/show-decision.ts'
import { listManifests } from '../../manifests/list-manifests.ts'
import { listDatasetRows } from '../../traces/list-dataset-rows.ts'
import { listTraces } from '../../traces/list-traces.ts'
import { showTrace } from '../../traces/show-trace.ts'
import { html } from '../html.ts'
import { ifFound, page } from '../page.ts'
import { ago, amount, count, duration, excerpt, facts, withQuery } from '../parts.ts'
import { datasetRows } from './dataset-rows.ts'
import { traceActions } from './trace-actions.ts'
import { traceContent } from './trace-content.ts'
import { traceHistory } from './trace-history.ts'
import { tracePath } from './trace-path.ts'
import { traceReplays } from './trace-replays.ts'
import { verdictPanel } from './verdict-panel.ts'
import { waterfall } from './waterfall.ts'

export const showTracePage = page('/traces/{trace_id}', {
  area: 'traces',
  async show({ ask, params, query, now, mayWrite }) {
    const { project, whole, rows: cursor } = query
    const [trace, breakdown, decision, rows] = await Promise.all([
      ask(showTrace, { params, query: { project } }),
      ask(showBreakdown, { params, query: { project } }),
      ifFound(ask(showDecision, { params, query: { project } })),
      ask(listDatasetRows, { params, query: { project, cursor, limit: 20 } }),
    ])
    // All of its parts, since none is named.
    if (!('agent_name' in trace)) throw notFound('Trace')
    const { trace_id, agent_name, project_id, parent_trace_id } = trace
    const isReplay = trace.source_type === 'replayed'
    const [{ manifests }, replays] = await Promise.all([
      ask(listManifests, { query: { agent_name, project: project_id, limit: 100 } }),
      ask(listTraces, {
        query: {
          parent_trace_id: trace_id,
          source_type: 'replayed',
          project: project_id,
          limit: 20,
        },
      }),
    ])
    const address = `/console/traces/${encodeURIComponent(trace_id)}`
    const path = withQuery(address, { project })
    const tokens = `${count(trace.input_tokens)} in · ${count(trace.output_tokens)} out`
    return {
      title: trace_id,
      above: [{ title: 'Traces', href: '/console/traces' }],
      beside: mayWrite ? traceActions(trace, manifests) : undefined,
      body: html`${facts({
          Agent: html`<a
            href="${withQuery('/console/traces', { agent_name: trace.agent_name, project })}"
            >${trace.agent_name}</a
          >`,
          Status: trace.status === 'error' ? html`<span class="error">error</span>` : trace.status,
          Took: trace.status === 'running' ? 'still running' : duration(trace.duration_ms),
          Tokens: tokens,
          Cost: trace.cost_usd ? `$${trace.cost_usd.toFixed(4)}` : undefined,
          Started: ago(trace.started_at, now),
          Version:
            trace.manifest_id &&
            html`<a href="/console/manifests/${trace.manifest_id}"
              >${trace.version_label}
              ${trace.manifest_hash && html`<code class="quiet">${trace.manifest_hash.slice(0, 10)}</code>`}</a
            >`,
          [isReplay ? 'Replay of' : 'Called by']:
            parent_trace_id &&
            html`<a href="${tracePath({ trace_id: parent_trace_id, project: trace.project })}"
              ><bdi>${excerpt(parent_trace_id, 60)}</bdi></a
            >`,
          Session:
            trace.session_id &&
            html`<a
              href="${withQuery('/console/traces', { session_id: trace.session_id, project })}"
              >${trace.session_id}</a
            >`,
          Project: trace.project === 'default' ? undefined : trace.project,
          Tags: trace.tags?.join(', '),
        })}
        ${verdictPanel(decision, breakdown)}
        <section aria-labelledby="time">
          <h2 id="time">Where the time went</h2>
          <div class="trace-body">
            ${waterfall(trace.spans ?? [])} ${traceContent(trace, { path, whole })}
          </div>
          ${trace.spans_truncated && html`<p class="quiet">The first ${amount(trace.spans?.length, 'spans')} are shown; <code>GET /api/v1/traces/…/spans</code> has all of them.</p>`}
        </section>
        ${traceReplays(replays, withQuery('/console/traces', { parent_trace_id: trace_id, source_type: 'replayed', project }), now)}
        ${traceHistory(trace, manifests, now)} ${datasetRows(rows, address, { project })}`,
    }
  },
})
