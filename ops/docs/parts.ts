/**
 * A document with another content of a part, which stands between `<!-- <name> -->` and
 * `<!-- /<name> -->`.
 * @throws Error for a document without the part
 */
export function replacePart(text: string, name: string, content: string): string {
  const { from, to } = findPart(text, name)
  return `${text.slice(0, from)}\n\n${content}\n\n${text.slice(to)}`
}

/** The content of a part of a document. @throws Error for a document without the part */
export function readPart(text: string, name: string): string {
  const { from, to } = findPart(text, name)
  return text.slice(from, to).trim()
}

/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [first, ...rest] = cells.map(line)
  return [first, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest].join('\n')
}

/** The rows of a table that `table` has written, without its head. */
export function readTable(text: string): string[][] {
  const [, , ...rows] = text.split('\n')
  return rows.map((row) => {
    const cells = row.split(/(?<!\\)\|/).slice(1, -1)
    return cells.map((cell) => cell.trim().replaceAll('\\|', '|'))
  })
}

function findPart(text: string, name: string) {
  const begin = `<!-- ${name} -->`
  const from = text.indexOf(begin)
  const to = text.indexOf(`<!-- /${name} -->`)
  if (from < 0 || to < from) throw new Error(`There is no ${begin} ... ${`<!-- /${name} -->`}`)
  return { from: from + begin.length, to }
}
