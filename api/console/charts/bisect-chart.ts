import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count } from '../parts.ts'

/** One version as it is drawn. */
export interface ChartedVersion {
  readonly version_label: string
  readonly n: number
  readonly mean: number | null
  readonly ci95_low: number | null
  readonly ci95_high: number | null
  readonly mde: number | null
}

/** Versions next to each other one of which made the metric worse, by their places. */
export interface Suspects {
  readonly first: number
  readonly last: number
}

/**
 * A metric from version to version, each with its interval. Across the chart lengths are shares of its
 * width, so that text keeps its size at any width; a nested svg carries a share into pixels.
 */
export function bisectChart(
  versions: readonly ChartedVersion[],
  suspects: readonly Suspects[],
): Markup {
  const scale = scaleOf(versions)
  const width = 100 / versions.length
  const middle = (i: number) => percent((i + 0.5) * width)
  const mostN = Math.max(1, ...versions.map(({ n }) => n))
  return html`<figure class="chart bisect">
    <div class="scroll" tabindex="0" role="region" aria-label="Means by version">
      <svg
        class="${versions.length > 8 && 'wide'}"
        width="100%"
        height="${HEIGHT}"
        role="img"
        aria-label="${tell(versions, suspects)}"
      >
        ${suspects.map(({ first, last }) => suspectBand(first * width, (last - first + 1) * width, last > first))}
        ${scale.ticks.map((tick) => html`<line class="grid-line" x2="100%" y1="${scale.y(tick)}" y2="${scale.y(tick)}" /><text class="tick" y="${scale.y(tick) - 5}">${tick.toFixed(2)}</text>`)}
        ${trend(versions, middle, scale)}
        ${versions.map((version, i) => html`<svg x="${middle(i)}" overflow="visible">${versionMark(version, versions[i - 1], { scale, mostN, isBad: suspects.some(({ first, last }) => first <= i && i <= last) })}</svg>`)}
      </svg>
    </div>
    <figcaption>
      Mean and 95 % interval of each version, with its number of traces. Where a version had truly
      been below its dashed line, it would have been found worse than the one before four times of
      five.
    </figcaption>
  </figure>`
}

function suspectBand(from: number, width: number, isWide: boolean) {
  return html`<rect
      class="suspects"
      x="${percent(from)}"
      width="${percent(width)}"
      y="0"
      height="${HEIGHT - 46}"
      rx="10"
    /><svg x="${percent(from + width / 2)}" overflow="visible">
      <text class="alarm" y="20">
        ${isWide ? 'Worse from one of these on' : 'Worse from here on'}
      </text>
    </svg>`
}

function trend(
  versions: readonly ChartedVersion[],
  middle: (i: number) => string,
  { y }: Scale,
): Markup[] {
  const known = [...versions.entries()].flatMap(([i, { mean }]) =>
    mean === null ? [] : [{ i, mean }],
  )
  return known.slice(1).map(({ i, mean }, k) => {
    const before = known[k] ?? { i, mean }
    return html`<line
      class="trend"
      x1="${middle(before.i)}"
      y1="${y(before.mean)}"
      x2="${middle(i)}"
      y2="${y(mean)}"
    />`
  })
}

function versionMark(
  { version_label, n, mean, ci95_low, ci95_high, mde }: ChartedVersion,
  before: ChartedVersion | undefined,
  { scale, mostN, isBad }: { scale: Scale; mostN: number; isBad: boolean },
) {
  const reference = before?.mean ?? null
  const bound = mde !== null && reference !== null ? reference - mde : undefined
  return html`<g class="${isBad && 'bad'}">
    ${bound !== undefined && scale.low < bound && html`<line class="bound" x1="-24" x2="24" y1="${scale.y(bound)}" y2="${scale.y(bound)}" />`}
    ${ci95_low !== null && ci95_high !== null && html`<rect class="interval" x="-7" width="14" y="${scale.y(ci95_high)}" height="${Math.max(2, scale.y(ci95_low) - scale.y(ci95_high)).toFixed(1)}" rx="7" />`}
    ${mean !== null && html`<circle class="mean" cy="${scale.y(mean)}" r="${(3.5 + 3 * Math.sqrt(n / mostN)).toFixed(1)}" /><text class="value" x="14" y="${scale.y(mean) + 4}">${mean.toFixed(2)}</text>`}
    <text class="label" y="${HEIGHT - 22}">${version_label}</text
    ><text class="n" y="${HEIGHT - 6}"
      >${count(n)}<tspan class="word"> ${n === 1 ? 'trace' : 'traces'}</tspan></text
    >
  </g>`
}

function tell(versions: readonly ChartedVersion[], suspects: readonly Suspects[]) {
  const means = versions.map(({ version_label, mean }) =>
    mean === null ? `${version_label} unknown` : `${version_label} ${mean.toFixed(2)}`,
  )
  const found = suspects.map(({ first, last }) => {
    const labels = versions.slice(first, last + 1).map(({ version_label }) => version_label)
    return `worse from ${labels.join(' or ')} on`
  })
  return [`Mean by version: ${means.join(', ')}`, ...found].join('; ')
}

/** From values to pixels, with some room at both ends and round values between. */
function scaleOf(versions: readonly ChartedVersion[]): Scale {
  const known = versions.filter(({ mean }) => mean !== null)
  const lows = known.map(({ ci95_low, mean }) => ci95_low ?? mean ?? 0)
  const highs = known.map(({ ci95_high, mean }) => ci95_high ?? mean ?? 1)
  const [least, most] = known.length > 0 ? [Math.min(...lows), Math.max(...highs)] : [0, 1]
  const room = Math.max(0.02, (most - least) * 0.14)
  const [low, high] = [least - room, most + room]
  const step = STEPS.find((size) => (high - low) / size <= 5) ?? (high - low) / 4
  const first = Math.ceil(low / step)
  const count = Math.max(0, Math.floor(high / step) - first + 1)
  return {
    low,
    y: (value) => round(TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM)),
    ticks: Array.from({ length: count }, (_, i) => (first + i) * step),
  }
}

function percent(share: number) {
  return `${share.toFixed(3)}%`
}

function round(pixels: number) {
  return Math.round(pixels * 10) / 10
}

const HEIGHT = 300
const TOP = 32
const BOTTOM = 54
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]

interface Scale {
  readonly low: number
  readonly y: (value: number) => number
  readonly ticks: readonly number[]
}
