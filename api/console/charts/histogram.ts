import { withEmptyBins } from '../../../jobs/rules/datasets/length-bins.ts'
import type { LengthBin } from '../../../jobs/rules/datasets/length-bins.ts'
import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, plural } from '../parts.ts'

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
  const bars = joined(withEmptyBins(bins))
  const most = Math.max(...bars.map(({ rows }) => rows))
  const width = 100 / bars.length
  const first = bars[0]?.from
  const last = bars.at(-1)?.to
  return html`<figure class="chart lengths">
    <h3>${title}</h3>
    <svg width="100%" height="${HEIGHT}" role="group" aria-label="${title}">
      ${bars.map((bar, i) => drawBar(bar, i * width))}
      <line class="base" x2="100%" y1="${HEIGHT - 0.5}" y2="${HEIGHT - 0.5}" />
    </svg>
    <p class="scale" aria-hidden="true">
      <span>${count(first)}</span><span>${middleOf(bars)}</span><span>${count(last)} ${unit}</span>
    </p>
  </figure>`

  function drawBar(bar: LengthBin, x: number) {
    if (bar.rows === 0) return ''
    const isChosen = chosen && bar.from >= chosen.from && bar.to <= chosen.to
    const high = Math.max(3, (bar.rows / most) * (HEIGHT - 6))
    const said = `${bar.from === bar.to ? count(bar.from) : `${count(bar.from)} to ${count(bar.to)}`} ${unit}: ${plural(bar.rows, 'row')}`
    return html`<a
      href="${linkOf(bar)}"
      aria-label="${said}"
      ${attributes({ 'aria-current': isChosen && 'true' })}
      ><title>${said}</title>
      <rect class="hit" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%" height="${HEIGHT}" />
      <rect
        class="bar${chosen && !isChosen && ' dim'}"
        x="${(x + width * 0.06).toFixed(2)}%"
        width="${(width * 0.88).toFixed(2)}%"
        y="${(HEIGHT - high).toFixed(1)}"
        height="${high.toFixed(1)}"
        rx="2"
    /></a>`
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
