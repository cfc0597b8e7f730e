import { withEmptyBins } from '../../../jobs/rules/datasets/length-bins.ts'
import type { LengthBin } from '../../../jobs/rules/datasets/length-bins.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, plural } from '../parts.ts'
import { barChart } from './bars.ts'

interface Histogram {
  readonly title: string
  /** Of the lengths, such as `tokens`. */
  readonly unit: string
  readonly bins: readonly LengthBin[]
  /** The lengths that are filtered by, if any. */
  readonly chosen: { readonly from: number; readonly to: number } | undefined
  /** Where a click on a bar leads. */
  readonly linkOf: (bin: Pick<LengthBin, 'from' | 'to'>) => string
}

/** How many rows are how long, each bar a filter. Bars get wider as lengths grow, as the rule of the bins says. */
export function histogram({ title, unit, bins, chosen, linkOf }: Histogram): Markup {
  const lengths = joined(withEmptyBins(bins))
  const first = lengths[0]?.from
  const last = lengths.at(-1)?.to
  return html`<figure class="chart lengths">
    <h3>${title}</h3>
    ${barChart(title, lengths.map(barOf), HEIGHT)}
    <p class="scale" aria-hidden="true">
      <span>${count(first)}</span><span>${middleOf(lengths)}</span
      ><span>${count(last)} ${unit}</span>
    </p>
  </figure>`

  function barOf(bin: LengthBin) {
    const { from, to, rows } = bin
    const length = from === to ? count(from) : `${count(from)} to ${count(to)}`
    return {
      n: rows,
      said: `${length} ${unit}: ${plural(rows, 'row')}`,
      href: linkOf(bin),
      isChosen: chosen && from >= chosen.from && to <= chosen.to,
    }
  }
}

/** Neighbours are drawn as one bar until all are wide enough to be hit. */
function joined(bins: readonly LengthBin[]): readonly LengthBin[] {
  if (bins.length <= MAX_BARS) return bins
  const pairs: LengthBin[] = []
  for (let i = 0; i < bins.length; i += 2) {
    const [a, b] = [bins[i], bins[i + 1]]
    if (a) pairs.push({ from: a.from, to: b?.to ?? a.to, rows: a.rows + (b?.rows ?? 0) })
  }
  return joined(pairs)
}

function middleOf(bars: readonly LengthBin[]) {
  return bars.length > 4 ? count(bars[Math.floor(bars.length / 2)]?.from) : ''
}

const HEIGHT = 112
const MAX_BARS = 24
