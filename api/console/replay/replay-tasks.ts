import type { AnswerOf } from '../../endpoint.ts'
import type { listReplayTasks } from '../../replay/list-tasks.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { ago, badge, duration, plural, stateBadge, withQuery } from '../parts.ts'
import type { Tone } from '../parts.ts'
import { tracePath } from '../traces/trace-path.ts'
import { changeOf } from './list-replays.ts'

type Task = AnswerOf<typeof listReplayTasks>['tasks'][number]

/** By which the states of tasks are told apart in lists and charts. */
export const TASK_TONES: Readonly<Record<Task['status'], Tone>> = {
  completed: 'good',
  leased: 'busy',
  pending: 'plain',
  failed: 'bad',
  skipped: 'warning',
  canceled: 'plain',
}

interface Place {
  readonly path: string
  readonly query: Query
  readonly now: Date
  /** Of the traces. */
  readonly project: string
}

/** Tasks of a batch, each with the trace before and after it. */
export function taskTable(tasks: readonly Task[], place: Place): Markup {
  return html`<table class="rows tasks" data-rows>
    <thead>
      <tr>
        <th>State</th>
        <th>Original</th>
        <th>Replay</th>
        <th>Outcome</th>
        <th class="num">Score change</th>
        <th>What changed</th>
      </tr>
    </thead>
    <tbody>
      ${tasks.map((task) => taskRow(task, place))}
    </tbody>
  </table>`
}

function taskRow(task: Task, { path, query, now, project }: Place) {
  const trace = (id: string) => tracePath({ trace_id: id, project })
  const { comparison } = task
  return html`<tr>
    <td>${stateBadge(task.status, TASK_TONES[task.status])}${lease(task, now)}</td>
    <td>
      <a data-row href="${trace(task.trace_id)}"><bdi>${task.trace_id.slice(0, 80)}</bdi></a>
      ${task.replayability !== 'full' && html`<p class="quiet">replayable ${task.replayability === 'none' ? 'not at all' : 'in part'}</p>`}
    </td>
    <td>
      ${task.replayed_trace_id !== null && html`<a href="${trace(task.replayed_trace_id)}"><bdi>${task.replayed_trace_id.slice(0, 80)}</bdi></a>`}
      ${task.reason !== null && html`<p class="error"><bdi>${task.reason.slice(0, 300)}</bdi></p>`}
    </td>
    <td>${comparison && outcomeBadge(comparison.outcome)}</td>
    <td class="num">${comparison && changeOf(comparison.score_delta)}</td>
    <td>
      ${comparison && changesOf(comparison)}
      ${comparison && task.replayed_trace_id !== null && html`<p><a class="link" href="${withQuery(path, { ...query, task: task.id })}#compared">Before and after</a></p>`}
    </td>
  </tr>`
}

function lease({ status, attempt, leased_by, leased_until }: Task, now: Date) {
  if (status === 'leased') {
    const holder = leased_by === null ? 'the runner' : html`<bdi>${leased_by.slice(0, 60)}</bdi>`
    return html`<p class="quiet">by ${holder}, ends ${ago(leased_until, now)}</p>`
  }
  return attempt > 1 && html`<p class="quiet">${plural(attempt, 'attempt')}</p>`
}

function outcomeBadge(outcome: 'win' | 'loss' | 'tie') {
  if (outcome === 'tie') return badge('= tie')
  return outcome === 'win' ? badge('▲ win', 'good') : badge('▼ loss', 'bad')
}

function changesOf({
  final_output_changed,
  tool_path_changed,
  latency_delta_ms: ms,
  cost_delta_usd: usd,
}: NonNullable<Task['comparison']>) {
  const words = [
    final_output_changed && 'another answer',
    tool_path_changed && 'other tools',
    ms !== null && Math.abs(ms) >= 1 && `${duration(Math.abs(ms))} ${ms < 0 ? 'faster' : 'slower'}`,
    usd !== null && usd !== 0 && `$${Math.abs(usd).toFixed(4)} ${usd < 0 ? 'cheaper' : 'dearer'}`,
  ].filter(Boolean)
  return words.length > 0 ? words.join(' · ') : ''
}
