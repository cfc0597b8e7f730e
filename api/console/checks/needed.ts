import { VERDICTS } from '../../../jobs/rules/core/verdicts.ts'
import type { AnswerOf } from '../../endpoint.ts'
import type { showCheck } from '../../regression/show-check.ts'
import { flowChart } from '../charts/flow-chart.ts'
import { shareBars } from '../charts/share-bars.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, percent } from '../parts.ts'

type Check = Pick<
  AnswerOf<typeof showCheck>,
  'compat_summary' | 'verdicts_by_score' | 'total_traces_analyzed'
>

/** What would have to be done with recorded traces so that they fit the candidate. */
export function neededOf(check: Check): Markup | undefined {
  const { compat_summary: verdicts, total_traces_analyzed: total } = check
  if (!verdicts || !total) return undefined
  const bars = VERDICTS.map((word) => ({ kind: `v-${word}`, n: verdicts[word] }))
  return html`<section class="strip" aria-labelledby="needed">
    <h2 id="needed">What recorded traces would need</h2>
    <svg width="100%" height="10" aria-hidden="true">${shareBars(bars, total)}</svg>
    <ul>
      ${VERDICTS.map(
        (word) =>
          html`<li>
            <span class="v-${word}"
              ><i aria-hidden="true"></i><b>${count(verdicts[word])}</b> ${NEEDS[word]}
              <span class="quiet">${percent(verdicts[word], total)}</span></span
            >
          </li>`,
      )}
    </ul>
    ${flowOf(check)}
  </section>`
}

/** From what the scores of the traces say to what the candidate asks of them. */
function flowOf({ verdicts_by_score: by }: Check) {
  if (!by) return undefined
  const told = STATUSES.flatMap((status) =>
    VERDICTS.flatMap((verdict) =>
      by[status][verdict] > 0 ? [`${by[status][verdict]} ${status} ${NEEDS[verdict]}`] : [],
    ),
  )
  return html`<figure class="chart">
    <p class="flow-heads" aria-hidden="true">
      <span>By their scores now</span><span>Under the candidate</span>
    </p>
    ${flowChart(
      `Traces by their scores: ${told.join(', ')}`,
      STATUSES.map((status) => ({ name: status, kind: `s-${status}` })),
      VERDICTS.map((verdict) => ({ name: verdict, kind: `v-${verdict}` })),
      STATUSES.map((status) => VERDICTS.map((verdict) => by[status][verdict])),
    )}
  </figure>`
}

export const NEEDS = {
  keep: 'stay as they are',
  repair: 'to be repaired',
  replay: 'to be replayed',
  drop: 'lost',
} as const
const STATUSES = ['passing', 'failing', 'unscored'] as const
