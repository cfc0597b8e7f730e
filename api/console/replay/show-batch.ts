import type { AnswerOf } from '../../endpoint.ts'
import { listReplayTasks } from '../../replay/list-tasks.ts'
import { showReplayBatch } from '../../replay/show-batch.ts'
import { showReplayTask } from '../../replay/show-task.ts'
import { showTrace } from '../../traces/show-trace.ts'
import { deltaBars } from '../charts/delta-bars.ts'
import { shareStrip } from '../charts/share-strip.ts'
import type { Share } from '../charts/share-strip.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import type { Panel } from '../live.ts'
import { ifFound, page } from '../page.ts'
import type { Visit } from '../page.ts'
import {
  ago,
  count,
  facts,
  pager,
  plural,
  sendButton,
  shortId,
  stateBadge,
  withQuery,
} from '../parts.ts'
import { sideBySide } from '../side-by-side.ts'
import { changeOf, isOpen } from './list-replays.ts'
import { TASK_TONES, taskTable } from './replay-tasks.ts'

export const showReplayPage = page('/replay/{replay_batch_id}', {
  area: 'replay',
  async show(visit) {
    const { query, mayWrite } = visit
    const read = await readBatch(visit)
    const { batch } = read
    const path = `/console/replay/${batch.id}`
    return {
      title: `Replay of ${batch.agent_name}`,
      above: [{ title: 'Replay', href: '/console/replay' }],
      beside: mayWrite ? actions(batch) : undefined,
      body: html`${livePanel(withQuery(`${path}/events`, query), panelOf(visit, read))}${await beforeAndAfter(visit, batch)}`,
    }
  },
})

export const replayEvents = panelEvents('/replay/{replay_batch_id}/events', async (visit) =>
  panelOf(visit, await readBatch(visit)),
)

async function readBatch({ ask, params, query }: Visit) {
  const { status, cursor } = query
  const [batch, list] = await Promise.all([
    ask(showReplayBatch, { params }),
    ask(listReplayTasks, { params, query: { status, cursor, limit: 50 } }),
  ])
  return { batch, list }
}

function panelOf({ query, now }: Visit, { batch, list }: Read): Panel {
  const path = `/console/replay/${batch.id}`
  const markup = html`${factsOf(batch, now)}
    ${isOpen(batch) && batch.paused_reason !== null && html`<p class="notice-line error" role="status">Nothing is sent to the runner: <bdi>${batch.paused_reason.slice(0, 500)}</bdi></p>`}
    <div class="columns">
      <section aria-labelledby="states">
        <h2 id="states">Tasks by state</h2>
        ${batch.total > 0 ? shareStrip('Tasks by state', sharesOf(batch, path, query['status'])) : html`<p class="quiet">${batch.status === 'pending' ? 'The tasks are being made.' : 'It has no tasks.'}</p>`}
      </section>
      <section aria-labelledby="outcomes">
        <h2 id="outcomes">Wins and losses</h2>
        ${outcomes(batch)}
      </section>
    </div>
    <section aria-labelledby="tasks">
      <h2 id="tasks">${query['status'] ? html`Tasks that are ${query['status']}` : 'Tasks'}</h2>
      ${list.tasks.length > 0 ? taskTable(list.tasks, { path, query, now, project: batch.project_id }) : html`<p class="quiet">None.</p>`}
      ${pager(path, query, list.next_cursor)}
    </section>`
  return { markup, isDone: !isOpen(batch) }
}

function factsOf(batch: Batch, now: Date) {
  const manifest = (id: string | null) =>
    id && html`<a href="/console/manifests/${id}"><code>${shortId(id)}</code></a>`
  return facts({
    State: stateBadge(batch.status),
    'Recorded under': manifest(batch.source_manifest_id) ?? 'any version',
    'Runs as': manifest(batch.target_manifest_id),
    Mode:
      batch.mode === 'push'
        ? `sent to the runner, ${batch.max_in_flight} at once`
        : 'runners claim tasks',
    Runner: batch.runner_url && html`<bdi>${batch.runner_url}</bdi>`,
    'Made by': batch.job_id && html`<a href="/console/jobs/${batch.job_id}">job</a>`,
    Made: ago(batch.created_at, now),
    [batch.canceled_at ? 'Canceled' : 'Open until']: batch.canceled_at
      ? ago(batch.canceled_at, now)
      : isOpen(batch) && ago(batch.expires_at, now),
    Note: batch.note && html`<bdi>${batch.note.slice(0, 500)}</bdi>`,
  })
}

function sharesOf({ counts }: Batch, path: string, status: string | undefined): Share[] {
  return (Object.keys(TASK_TONES) as (keyof typeof counts)[]).map((word) => ({
    word,
    n: counts[word],
    tone: TASK_TONES[word],
    isCurrent: status === word,
    href: withQuery(path, { status: status === word ? undefined : word }),
  }))
}

function outcomes(batch: Batch): Markup {
  const { wins, losses, ties, mean_score_delta } = batch
  if (wins + losses + ties === 0) {
    return html`<p class="quiet">
      No replay is compared yet. One comes with each result a runner submits.
    </p>`
  }
  const deltas = batch.tasks.flatMap(({ comparison }) => comparison?.score_delta ?? [])
  const summary = `${plural(wins, 'win')}, ${plural(ties, 'tie')}, ${plural(losses, 'loss', 'losses')}`
  return html`${shareStrip('Outcomes', [
    { word: wins === 1 ? 'win' : 'wins', n: wins, tone: 'good' },
    { word: ties === 1 ? 'tie' : 'ties', n: ties, tone: 'plain' },
    { word: losses === 1 ? 'loss' : 'losses', n: losses, tone: 'bad' },
  ])}
  ${
    deltas.length > 0 &&
    html`<figure class="chart">
      ${deltaBars(deltas, `Score changes of ${count(deltas.length)} tasks: ${summary}`)}
      <figcaption>
        Score of the replay less that of the original, one bar a
        task${batch.total > batch.tasks.length && `, of the first ${batch.tasks.length}`}. In the
        mean ${changeOf(mean_score_delta)}.
      </figcaption>
    </figure>`
  }`
}

function actions(batch: Batch) {
  if (!isOpen(batch)) return undefined
  return html`${batch.paused_reason !== null && sendButton('Resume', `POST /replay/batches/${batch.id}/resume`, { kind: 'primary' })}
  ${sendButton('Cancel', `POST /replay/batches/${batch.id}/cancel`, { kind: 'danger', confirm: 'Cancel all open tasks? What runners still submit is refused.' })}`
}

/** What the original and the replay of the task ended in that the address names. */
async function beforeAndAfter(
  { ask, query }: Visit,
  { id, project_id: project }: Batch,
): Promise<Markup | undefined> {
  const { task: task_id } = query
  if (!task_id) return undefined
  const task = await ifFound(ask(showReplayTask, { params: { task_id } }))
  if (task?.batch_id !== id || task.replayed_trace_id === null) return undefined
  const replayed = await ifFound(
    ask(showTrace, {
      params: { trace_id: task.replayed_trace_id },
      query: { fields: 'core', project },
    }),
  )
  const answer = replayed && 'agent_name' in replayed ? replayed.final_output_preview : null
  return html`<section id="compared" aria-labelledby="compared-title">
    <h2 id="compared-title">Before and after of <bdi>${task.trace_id}</bdi></h2>
    <p class="quiet"><bdi>${task.task_input?.user_input?.slice(0, 500)}</bdi></p>
    ${sideBySide(task.task_input?.original_output ?? '', answer ?? '', ['Original output', 'Output of the replay'])}
  </section>`
}

type Batch = AnswerOf<typeof showReplayBatch>
type Read = Awaited<ReturnType<typeof readBatch>>
