import { attributes, html } from '../html.ts'
import type { Markup } from '../html.ts'

/** One bar, which leads somewhere. */
export interface Bar {
  /** 0 draws none. */
  readonly n: number
  /** What it stands for, in words. */
  readonly said: string
  readonly href: string
  /** Whether it is what the page is filtered by; undefined where it is filtered by no bar. */
  readonly isChosen: boolean | undefined
  /** A class besides `bar`. */
  readonly tone?: string
}

/** Bars of the same width from a common base, as high as their numbers. @param height in pixels */
export function barChart(label: string, bars: readonly Bar[], height: number): Markup {
  const most = Math.max(...bars.map(({ n }) => n))
  const width = 100 / bars.length
  return html`<svg class="bars" width="100%" height="${height}" role="group" aria-label="${label}">
    ${bars.map((bar, i) => drawBar(bar, i * width))}
    <line class="base" x2="100%" y1="${height - 0.5}" y2="${height - 0.5}" />
  </svg>`

  function drawBar({ n, said, href, isChosen, tone = '' }: Bar, x: number) {
    if (n === 0) return ''
    const high = Math.max(3, (n / most) * (height - 6))
    return html`<a
      href="${href}"
      aria-label="${said}"
      ${attributes({ 'aria-current': isChosen && 'true' })}
      ><title>${said}</title>
      <rect class="hit" x="${x.toFixed(2)}%" width="${width.toFixed(2)}%" height="${height}" />
      <rect
        class="bar ${tone}${isChosen === false && ' dim'}"
        x="${(x + width * 0.06).toFixed(2)}%"
        width="${(width * 0.88).toFixed(2)}%"
        y="${(height - high).toFixed(1)}"
        height="${high.toFixed(1)}"
        rx="2"
    /></a>`
  }
}
