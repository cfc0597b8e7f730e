import type { AnswerOf } from '../../endpoint.ts'
import type { showEvalHistogram } from '../../evals/show-eval-histogram.ts'
import { barChart } from '../charts/bars.ts'
import type { Bar } from '../charts/bars.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Query } from '../page.ts'
import { levelOf, plural, withQuery } from '../parts.ts'

type Histogram = AnswerOf<typeof showEvalHistogram>

/** How good traces are, each bar a filter of the list below; a further click takes it away. */
export function qualityHistogram({ total, bins }: Histogram, filter: Query): Markup {
  if (total === 0) return html``
  return html`<figure class="quality">
    ${barChart('Quality', bins.map(barOf), 56)}
    <p class="scale" aria-hidden="true"><span>0</span><span>Quality</span><span>1</span></p>
  </figure>`

  function barOf({ from, to, count }: Histogram['bins'][number]): Bar {
    const { min_score, max_score } = filter
    const isFiltered = Boolean(min_score || max_score)
    const bounds = { min_score: String(from), max_score: to < 1 ? below(to) : undefined }
    const isOnly = min_score === bounds.min_score && max_score === bounds.max_score
    const isWithin = from >= Number(min_score ?? 0) && Number(below(to)) <= Number(max_score ?? 1)
    return {
      n: count,
      said: `Quality ${from.toFixed(2)} to ${to.toFixed(2)}: ${plural(count, 'trace')}`,
      href: withQuery(
        '/console/traces',
        filter,
        isOnly ? { min_score: undefined, max_score: undefined } : bounds,
      ),
      isChosen: isFiltered ? isWithin : undefined,
      tone: levelOf(from),
    }
  }
}

/** The list takes its upper bound in, bins do not. Qualities have six decimals. */
function below(to: number) {
  return (to - 1e-6).toFixed(6)
}
