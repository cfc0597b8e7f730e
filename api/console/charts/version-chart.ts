import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'
import { plural } from '../parts.ts'

export interface ChartedVersion {
  readonly version_label: string
  /** Traces with the metric. */
  readonly n: number
  readonly mean: number | null
  readonly ci95_low: number | null
  readonly ci95_high: number | null
}

export interface ChartedFinding {
  readonly version_label: string
  readonly candidate_version_labels: readonly string[]
}

const HEIGHT = 290
const TOP = 40
const BOTTOM = 48
/** So many versions fit into a wide window; further ones make the chart scroll, at this width for each. */
const FITTING = 12
const MIN_COLUMN = 78

/**
 * A mean from version to version, each with its 95 % interval; bands are the versions one of which made it
 * worse. Across the chart lengths are shares of its width, so that text keeps its size; many versions make
 * the chart scroll.
 */
export function versionChart(
  versions: readonly ChartedVersion[],
  open: readonly ChartedFinding[],
): Markup {
  const known = versions.flatMap((version, i) => (version.mean === null ? [] : [{ ...version, i }]))
  const [low, high] = rangeOf(known)
  const y = (value: number) =>
    (TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM)).toFixed(1)
  const column = 100 / versions.length
  const x = (i: number) => `${((i + 0.5) * column).toFixed(3)}%`
  const mostTraces = Math.max(...versions.map(({ n }) => n))
  const worse = new Set(open.map(({ version_label }) => version_label))
  return html`<figure class="chart version-chart ${versions.length > 5 && 'many'}">
    <div class="scroll" tabindex="0" role="group" aria-label="Chart">
      <svg${attributes({ width: versions.length > FITTING ? versions.length * MIN_COLUMN : '100%', height: HEIGHT, role: 'img', 'aria-label': describe(versions, open) })}>
        ${ticksOf(low, high).map((tick) => html`<line class="grid-line" x2="100%" y1="${y(tick)}" y2="${y(tick)}" /><text class="tick" y="${Number(y(tick)) - 5}">${tick.toFixed(2)}</text>`)}
        ${open.map((finding) => band(finding, versions, column))}
        ${known.slice(1).map(({ i, mean }, before) => {
          const last = known[before]
          return html`<line
            class="trend"
            x1="${x(last?.i ?? i)}"
            y1="${y(last?.mean ?? 0)}"
            x2="${x(i)}"
            y2="${y(mean ?? 0)}"
          />`
        })}
        ${versions.map(({ mean, ci95_low, ci95_high, n, version_label }, i) => {
          const from = y(ci95_high ?? 0)
          const radius = 3.5 + 3 * Math.sqrt(n / Math.max(1, mostTraces))
          return html`<svg x="${x(i)}" overflow="visible">
            <g class="${worse.has(version_label) && 'worse'}">
              ${ci95_low !== null && ci95_high !== null && html`<rect class="interval" x="-7" width="14" y="${from}" height="${Math.max(2, Number(y(ci95_low)) - Number(from)).toFixed(1)}" rx="7" />`}
              ${mean !== null && html`<circle class="mean" cy="${y(mean)}" r="${radius.toFixed(1)}" /><text class="value" x="15" y="${Number(y(mean)) + 4}">${mean.toFixed(2)}</text>`}
              <text class="label" y="${HEIGHT - 22}">${version_label}</text>
              <text class="tick centre" y="${HEIGHT - 6}">${n}</text>
            </g>
          </svg>`
        })}
      </svg>
    </div>
    <figcaption>
      Mean and 95 % interval of each version, above its number of traces. The dot grows with that
      number.
    </figcaption>
  </figure>`
}

function band(
  { candidate_version_labels: suspects }: ChartedFinding,
  versions: readonly ChartedVersion[],
  column: number,
) {
  const places = versions.flatMap(({ version_label }, i) =>
    suspects.includes(version_label) ? [i] : [],
  )
  const [first] = places
  if (first === undefined) return ''
  const span = (places.at(-1) ?? first) - first + 1
  const share = (columns: number) => `${(columns * column).toFixed(3)}%`
  return html`<rect
      class="suspects"
      x="${share(first)}"
      width="${share(span)}"
      y="${TOP - 28}"
      height="${HEIGHT - TOP - BOTTOM + 36}"
      rx="8"
    />
    <svg x="${share(first + span / 2)}" overflow="visible">
      <text class="alarm" y="${TOP - 11}">
        ${span === 1 ? 'Worse from here' : 'Worse from one of these'}
      </text>
    </svg>`
}

function describe(versions: readonly ChartedVersion[], open: readonly ChartedFinding[]) {
  const means = versions.map(
    ({ version_label, mean, n }) =>
      `${version_label} ${mean === null ? 'unknown' : mean.toFixed(2)} of ${plural(n, 'trace')}`,
  )
  const found = open.map(({ version_label }) => `Worse since ${version_label}`)
  return [`Mean by version: ${means.join(', ')}`, ...found].join('. ')
}

function rangeOf(versions: readonly ChartedVersion[]): [number, number] {
  const low = Math.min(...versions.map(({ ci95_low, mean }) => ci95_low ?? mean ?? 0))
  const high = Math.max(...versions.map(({ ci95_high, mean }) => ci95_high ?? mean ?? 1))
  if (versions.length === 0) return [0, 1]
  const room = Math.max(0.02, (high - low) * 0.12)
  return [low - room, high + room]
}

/** Round values within, a handful. */
function ticksOf(low: number, high: number) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((size) => (high - low) / size <= 5) ?? 1
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step)
}
