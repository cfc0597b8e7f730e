import { readFile } from 'node:fs/promises'

/** What a bench found out: a row of the table of measured figures in `ops/docs/performance.md`. */
export interface Figure {
  /** What was measured. The row of the table is found by it, so it names no size that may change. */
  readonly what: string
  /** To the ceiling; null where there is none. */
  readonly ratio: number | null
  /** What the ratio was made of, with units. */
  readonly figures: string
}

/** As lines of JSON, which `readFigures` finds among the other lines of a bench. */
export function report(...figures: readonly Figure[]) {
  for (const figure of figures) process.stdout.write(`${JSON.stringify(figure)}\n`)
}

/** The figures that a bench has reported. @param output all that it has written */
export function readFigures(output: string): Figure[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{"what":'))
  return lines.map((line) => JSON.parse(line) as Figure)
}

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

/** The value below which a share of the values is; NaN of none. */
export function quantile(values: readonly number[], share: number) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** How long runs take, one after the other. */
export async function timeEach(times: number, run: (number: number) => Promise<void>) {
  const spentMs: number[] = []
  for (let number = 0; number < times; number++) {
    const since = performance.now()
    await run(number)
    spentMs.push(performance.now() - since)
  }
  const at = (share: number) => round(quantile(spentMs, share))
  return { p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) }
}

/** To hundredths. */
export function round(value: number) {
  return Math.round(value * 100) / 100
}

/** A whole number for people. */
export function whole(value: number) {
  return Math.round(value).toLocaleString('en')
}

/** The most memory a running process has had, from /proc. */
export async function peakMiB(pid: number | undefined) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
