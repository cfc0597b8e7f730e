import { html } from '../html.ts'
import type { Markup } from '../html.ts'

/** What ended in one hour. */
export interface Hour {
  readonly hour: Date
  readonly succeeded: number
  readonly failed: number
  readonly canceled: number
}

/**
 * How many jobs ended in each hour, those that failed on top.
 * @param summary what the chart says, for who does not see it
 */
export function hourBars(hours: readonly Hour[], summary: string): Markup {
  const most = hours.reduce((max, hour) => Math.max(max, totalOf(hour)), 1)
  const width = 100 / Math.max(1, hours.length)
  return html`<svg width="100%" height="${HEIGHT}" role="img" aria-label="${summary}">
      ${hours.map((hour, i) => drawHour(hour, i * width))}
      <line class="grid-line" x2="100%" y1="${HEIGHT - 0.5}" y2="${HEIGHT - 0.5}" />
    </svg>
    <p class="clock quiet" aria-hidden="true">
      <span>${clock(hours[0])}</span><span>${clock(hours[hours.length / 2])}</span><span>now</span>
    </p>`

  function drawHour(hour: Hour, x: number) {
    if (totalOf(hour) === 0) return ''
    const parts = [
      { of: 'good', n: hour.succeeded },
      { of: 'canceled', n: hour.canceled },
      { of: 'bad', n: hour.failed },
    ].filter(({ n }) => n > 0)
    let bottom = HEIGHT - 1
    return html`<g>
      <title>${saidOf(hour)}</title>
      ${parts.map(({ of, n }) => {
        const high = Math.max(2, (n / most) * (HEIGHT - 10))
        bottom -= high
        return html`<rect
          class="fill ${of}"
          x="${(x + width * 0.12).toFixed(2)}%"
          width="${(width * 0.76).toFixed(2)}%"
          y="${bottom.toFixed(1)}"
          height="${high.toFixed(1)}"
        />`
      })}
    </g>`
  }
}

function totalOf({ succeeded, failed, canceled }: Hour) {
  return succeeded + failed + canceled
}

function saidOf(hour: Hour) {
  const { succeeded, failed, canceled } = hour
  return `${clock(hour)}: ${succeeded} succeeded, ${failed} failed, ${canceled} canceled`
}

function clock(hour: Hour | undefined) {
  return hour ? `${hour.hour.toISOString().slice(11, 16)} UTC` : ''
}

const HEIGHT = 64
