import { readFile } from 'node:fs/promises'

/** As a Markdown table. */
export function print(rows: readonly Record<string, string | number>[]) {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |\n`
  const [first] = rows
  const names = Object.keys(first ?? {})
  process.stdout.write(line(names) + line(names.map(() => '---')))
  for (const row of rows) process.stdout.write(line(Object.values(row)))
}

export function median(values: readonly number[]) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number
}

/** To hundredths. */
export function round(value: number) {
  return Math.round(value * 100) / 100
}

/** The most memory a running process has had, from /proc. */
export async function peakMiB(pid: number | undefined) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
