import type { AnswerOf } from '../../endpoint.ts'
import type { showBreakdown } from '../../evals/show-breakdown.ts'
import type { showDecision } from '../../evals/show-decision.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, levelOf, plural, verdictBadge } from '../parts.ts'

type Decision = AnswerOf<typeof showDecision>
type Breakdown = AnswerOf<typeof showBreakdown>
type Change = Decision['counterfactual_change']

/** The verdict with the rule that decided, what would change it, and the scores that it rests on. */
export function verdictPanel(decision: Decision | undefined, breakdown: Breakdown): Markup {
  const { quality_avg, source_groups } = breakdown
  const change = decision?.counterfactual_change ?? null
  return html`<section class="verdict v-${decision?.verdict ?? 'none'}" aria-labelledby="verdict">
    <div class="why">${decision ? why(decision) : notJudged()}</div>
    <div class="sources">
      <h3>Quality ${quality_avg === null ? 'unknown' : quality_avg.toFixed(2)}</h3>
      ${source_groups.length === 0 ? html`<p class="quiet">No score yet. Scores come with traces, from evaluators, or by <code>POST /api/v1/eval-scores</code>.</p>` : scoreTable(source_groups, change)}
    </div>
  </section>`
}

function why(decision: Decision) {
  const { verdict, needs_review, reasons, policy } = decision
  const [deciding, ...others] = reasons
  return html`<h2 id="verdict">${verdictBadge(verdict, needs_review)}</h2>
    <p class="because"><bdi>${deciding?.message ?? 'No rule but the last one matched'}</bdi></p>
    ${deciding && html`<p class="quiet"><code>${deciding.code}</code> · rule ${deciding.rule} · policy ${policy.name} v${policy.version}</p>`}
    ${
      others.length > 0 &&
      html`<details ${needs_review && html`open`}>
        <summary>${plural(others.length, 'more rule')} matched</summary>
        <ul>
          ${others.map(({ message, code }) => html`<li><bdi>${message}</bdi> <code class="quiet">${code}</code></li>`)}
        </ul>
      </details>`
    }
    ${
      decision.counterfactual !== null &&
      html`<div class="flip">
        <h3>What would change it</h3>
        <p>${wouldBe(decision)}</p>
      </div>`
    }`
}

function wouldBe({ counterfactual, counterfactual_change: change }: Decision) {
  // Backups may hold a text that no rule wrote.
  if (change === null) return html`<bdi>${counterfactual}</bdi>`
  const { verdict, needs_review, subject, op, value } = change
  const then = html`It would be <b>${verdict}${needs_review && ' with review'}</b> if`
  if (op === null) return html`${then} <bdi>${subject}</bdi>`
  return html`${then} <code><bdi>${subject}</bdi></code> were ${op === '<' ? 'below' : 'at least'}
    <b>${value}</b>`
}

function notJudged() {
  return html`<h2 id="verdict">${verdictBadge(null)}</h2>
    <p class="because">There is no verdict yet</p>
    <p class="quiet">A trace is judged when it has ended, and again when its scores change.</p>`
}

function scoreTable(groups: Breakdown['source_groups'], change: Change) {
  return html`<table>
    <thead class="visually-hidden">
      <tr>
        <th>Source and weight</th>
        <th>Scores</th>
      </tr>
    </thead>
    <tbody>
      ${groups.map(
        ({ source, source_label, weight, scores }) =>
          html`<tr>
            <th scope="row">
              ${source_label ?? source.replaceAll('_', ' ')}
              <p class="quiet">weight ${count(weight)}</p>
            </th>
            <td>
              ${scores.map((score) => scoreLine(score, change?.subject === score.name ? change.value : null))}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

/** A score on its way from 0 to 1, with a mark where the verdict would be another. */
function scoreLine(
  { name, value, label, reason }: Breakdown['source_groups'][number]['scores'][number],
  /** Where the verdict changes; null on other scores than the one that has to move. */
  mark: number | null,
) {
  const said = reason && html`<small><bdi>${reason}</bdi></small>`
  if (value === null)
    return html`<div class="line">
      <span><bdi>${name}</bdi></span
      ><span class="quiet">${label ?? 'text'}</span><b></b>${said}
    </div>`
  const told = `${name} ${value.toFixed(2)}${mark === null ? '' : `; the verdict changes at ${mark}`}`
  return html`<div class="line">
    <span><bdi>${name}</bdi></span
    ><svg width="100%" height="14" role="img" aria-label="${told}">
      <rect class="track" width="100%" y="4" height="6" rx="3" />
      <rect
        class="fill ${levelOf(value)}"
        width="${Math.max(0.8, value * 100).toFixed(2)}%"
        y="4"
        height="6"
        rx="3"
      />
      ${mark !== null && html`<rect class="mark-room" x="${mark * 100}%" width="6" height="14" transform="translate(-3)" /><rect class="mark" x="${mark * 100}%" width="2" height="14" transform="translate(-1)" />`}</svg
    ><b>${value.toFixed(2)}</b>${said}
  </div>`
}
