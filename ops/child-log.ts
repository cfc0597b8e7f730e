import { createWriteStream, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Where the output of one child process goes: all of it to a file, what people should see to a screen. */
export interface ChildLog {
  readonly path: string
  /** Takes all lines of a stream until it ends. */
  read(stream: Readable): void
}

/** @param show called with a readable line for each log entry of at least `minLevel` */
export function openChildLog(
  folder: string,
  name: string,
  minLevel: number,
  show: (line: string) => void,
): ChildLog {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name}.log`)
  keepBelowLimit(path)
  const file = createWriteStream(path, { flags: 'a' })
  // A full disk must not stop the service: the log then ends, the screen goes on.
  file.on('error', () => undefined)
  return {
    path,
    read(stream) {
      createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => {
        file.write(`${line}\n`)
        const shown = readable(line, minLevel)
        if (shown) show(`${name}: ${shown}`)
      })
    },
  }
}

function keepBelowLimit(path: string) {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > MAX_LOG_BYTES) renameSync(path, `${path}.1`)
}

/** A log entry as people read it; undefined for what is below `minLevel` or no log entry. */
function readable(line: string, minLevel: number) {
  if (!line.startsWith('{')) return undefined
  try {
    const entry: Partial<LogEntry> = JSON.parse(line)
    const { level, msg, queue, job_id, err } = entry
    if (level === undefined || level < minLevel) return undefined
    const job = [queue, job_id].filter(Boolean).join(' ')
    return [job && `${job}:`, msg, err?.message && `(${err.message})`].filter(Boolean).join(' ')
  } catch {
    return undefined
  }
}

interface LogEntry {
  readonly level: number
  readonly msg: string
  readonly queue: string
  readonly job_id: string
  readonly err: { readonly message?: string }
}

/** Beyond it the next start begins a new file and keeps this one as `.1`. */
const MAX_LOG_BYTES = 16 << 20
