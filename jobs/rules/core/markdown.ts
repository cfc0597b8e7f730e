/**
 * A text as Markdown shows it on one line, with nothing in it that Markdown or HTML would take for more
 * than characters; what is invisible is left out.
 */
export function plainMarkdown(text: string) {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(/[!-/:-@[-`{-~]/g, '\\$&')
    .trim()
}

/**
 * A table, or nothing where it has no rows.
 * @param rows cells that are Markdown already
 */
export function markdownTable(head: readonly string[], rows: readonly (readonly Cell[])[]) {
  if (rows.length === 0) return []
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

type Cell = string | number
