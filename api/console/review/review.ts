import { listAgents } from '../../manifests/list-agents.ts'
import { showBreakdown } from '../../evals/show-breakdown.ts'
import { showDecision } from '../../evals/show-decision.ts'
import { listTraces } from '../../traces/list-traces.ts'
import { showTrace } from '../../traces/show-trace.ts'
import { notFound } from '../../errors.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { KeyList } from '../layout.ts'
import { ifFound, page } from '../page.ts'
import type { Query, Visit } from '../page.ts'
import {
  ago,
  choice,
  count,
  duration,
  emptyState,
  facts,
  hiddenProject,
  withQuery,
} from '../parts.ts'
import { traceContent } from '../traces/trace-content.ts'
import type { ShownContent } from '../traces/trace-content.ts'
import { verdictPanel } from '../traces/verdict-panel.ts'
import { reviewActions } from './review-actions.ts'
import { nameOf, placeAfter } from './review-place.ts'
import type { TraceName } from './review-place.ts'

const PATH = '/console/review'

/**
 * Traces in doubt, one at a time. The address says where in their list a person is: `cursor` leads to the
 * next one, `trace_id` and `of` (its project) back to one that was shown before, `back` names that one.
 */
export const reviewPage = page('/review', {
  area: 'review',
  async show(visit) {
    const { ask, query, mayWrite } = visit
    const { agent_name, project } = query
    const filter = { agent_name, project }
    const [list, { agents }] = await Promise.all([
      ask(listTraces, {
        query: { ...filter, cursor: query['cursor'], needs_review: true, limit: 1 },
      }),
      ask(listAgents, { query: { project, limit: 100 } }),
    ])
    const names = agents.map((agent) => agent.agent_name)
    const total = list.total ?? undefined
    const left = `${total === undefined ? 'Many' : count(total)}${list.total_is_capped ? '+' : ''} left`
    const shown =
      nameOf(query['trace_id'], query['of']) ?? (query['end'] ? undefined : list.traces[0])
    const next = placeAfter(query, shown, list.next_cursor)
    return {
      title: 'Review',
      beside: html`${agentChoice(filter, names)}<span class="left" role="status">${left}</span>`,
      body: shown
        ? await oneTrace(visit, shown, next)
        : nothingLeft(
            filter,
            total === 0,
            query['end'] !== undefined || query['cursor'] !== undefined,
          ),
      keys: mayWrite ? [...DECIDING_KEYS, ...LEADING_KEYS] : LEADING_KEYS,
    }
  },
})

async function oneTrace({ ask, query, now, mayWrite }: Visit, name: TraceName, next: string) {
  const given = { params: { trace_id: name.trace_id }, query: { project: name.project } }
  const [trace, breakdown, decision] = await Promise.all([
    ask(showTrace, given),
    ask(showBreakdown, given),
    ifFound(ask(showDecision, given)),
  ])
  // All of its parts, since none is named.
  if (!('agent_name' in trace)) throw notFound('Trace')
  const project = trace.project === 'default' ? undefined : trace.project
  const path = withQuery(`/console/traces/${encodeURIComponent(trace.trace_id)}`, { project })
  const back = backPlace(query)
  const said = trace.annotations?.[0]
  return html`${facts({
      Trace: html`<a href="${path}" data-key="o"><bdi>${trace.trace_id}</bdi></a>`,
      Agent: trace.agent_name,
      Project: project,
      Took: duration(trace.duration_ms),
      Started: ago(trace.started_at, now),
    })}
    ${verdictPanel(decision, breakdown)}
    ${
      said &&
      html`<p class="said-last">
        A person
        said${said.rating !== null && html` <b>${said.rating} of 5</b>`}${said.corrected_output !== null && html` <b>with a corrected output</b>`}
        ${ago(said.created_at, now)}${decision?.needs_review && '; what is above was still in doubt when this page was made'}.
      </p>`
    }
    <div class="review">
      <section aria-labelledby="conversation">
        <h2 id="conversation">Conversation</h2>
        ${traceContent(conversationOf(trace), { path, whole: undefined })}
      </section>
      ${mayWrite ? reviewActions(trace, { next, back }) : onlyLooking(next, back)}
    </div>`
}

/** The messages of all calls one after the other; where none was recorded, what went in and came out. */
function conversationOf(trace: ShownContent): ShownContent {
  const { llm_calls = [] } = trace
  if (llm_calls.length === 0) return { ...trace, spans: [] }
  return { ...trace, spans: [], user_input_preview: null, final_output_preview: null }
}

/** Where the trace that was shown before can be seen again, by what the address tells. */
function backPlace({ back, of_back, cursor, agent_name, project }: Query) {
  if (!back) return undefined
  return withQuery(PATH, { agent_name, project, cursor, trace_id: back, of: of_back })
}

function onlyLooking(next: string, back: string | undefined) {
  return html`<section class="review-side card" aria-label="What next">
    <p class="quiet">Your key may only read. Who may write says here what they think.</p>
    <nav aria-label="Traces in doubt" class="actions">
      <a class="button" href="${next}" data-key="s">Next <kbd>s</kbd></a>
      ${back && html`<a class="button" href="${back}" data-key="u">Back <kbd>u</kbd></a>`}
    </nav>
  </section>`
}

function agentChoice({ agent_name, project }: Query, names: readonly string[]): Markup {
  const all = new Set([...names, ...(agent_name ? [agent_name] : [])])
  if (all.size < 2) return html``
  return html`<form action="${PATH}">
    ${choice('agent_name', 'Agent', [...all], agent_name)} ${hiddenProject(project)}
    <noscript><button class="button">Show</button></noscript>
  </form>`
}

function nothingLeft(filter: Query, isEmpty: boolean, hasBegun: boolean) {
  const toTraces = html`<a class="button" href="${withQuery('/console/traces', filter)}"
    >To the traces</a
  >`
  if (isEmpty) {
    const text = hasBegun
      ? 'Nothing is in doubt any more.'
      : 'A verdict is in doubt where scores contradict each other or lie in the middle, where only built-in scores tell, and where somebody flagged a trace.'
    return emptyState(hasBegun ? 'All done' : 'No trace needs a person', text, toTraces)
  }
  return emptyState(
    'You have seen them all',
    'What you skipped, and what is being judged anew, may still be in doubt.',
    html`<a class="button primary" href="${withQuery(PATH, filter)}" data-key="s"
        >Begin again <kbd>s</kbd></a
      >
      ${toTraces}`,
  )
}

const DECIDING_KEYS: KeyList = [
  ['y', 'Right as it is'],
  ['1 2 3 4 5', 'Rate it'],
  ['c', 'Write what it should have answered'],
  ['Ctrl Enter', 'Send that correction'],
  ['Esc', 'Leave the field'],
]
const LEADING_KEYS: KeyList = [
  ['s', 'Skip, or begin again at the end'],
  ['u', 'The trace before'],
  ['o', 'Open the trace'],
]
