import { html } from '../html.ts'
import type { Markup } from '../html.ts'

/**
 * The parts of a whole side by side, as the content of an `svg` that is 10 pixels high; of what there is nothing,
 * nothing is drawn.
 * @param parts each with the classes of its bar
 */
export function shareBars(
  parts: readonly { readonly kind: string; readonly n: number }[],
  total: number,
): Markup {
  let at = 0
  return html`${parts.map(({ kind, n }) => {
    const from = at
    const share = (n / total) * 100
    at += share
    return (
      share > 0 &&
      html`<rect
        class="${kind}"
        x="${from.toFixed(3)}%"
        width="${Math.max(0.15, share - 0.2).toFixed(3)}%"
        height="10"
        rx="3"
      />`
    )
  })}`
}
