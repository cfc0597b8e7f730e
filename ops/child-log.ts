import { createWriteStream, mkdirSync, renameSync, statSync } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Where the output of one child process goes: all of it to a file, what people should see to a screen. */
export interface ChildLog {
  readonly path: string
  /** Takes all lines of a stream until it ends. */
  read(stream: Readable): void
}

/**
 * @param show called with a readable line for each log entry of at least `minLevel`
 * @param maxBytes of the file, beyond which another one is begun and this one kept as `.1`
 */
export function openChildLog(
  folder: string,
  name: string,
  minLevel: number,
  show: (line: string) => void,
  maxBytes = MAX_LOG_BYTES,
): ChildLog {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name}.log`)
  const append = openFile(path, maxBytes)
  return {
    path,
    read(stream) {
      createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => {
        append(`${line}\n`)
        const shown = readable(line, minLevel)
        if (shown) show(`${name}: ${shown}`)
      })
    },
  }
}

function openFile(path: string, maxBytes: number) {
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  let file: WriteStream | undefined
  return (text: string) => {
    // Before it is open, a renamed file would not be the one that it writes to.
    if (size >= maxBytes && !file?.pending) {
      file?.end()
      rename(path)
      size = 0
      file = undefined
    }
    file ??= openStream(path)
    size += Buffer.byteLength(text)
    file.write(text)
  }
}

/** A full disk must not stop the service: the log then ends, the screen goes on. */
function openStream(path: string) {
  return createWriteStream(path, { flags: 'a' }).on('error', () => undefined)
}

function rename(path: string) {
  try {
    renameSync(path, `${path}.1`)
  } catch {
    // Somebody took the file away.
  }
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

const MAX_LOG_BYTES = 16 << 20
