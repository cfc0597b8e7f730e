import type { Logger } from 'pino'
import { endNow } from './shutdown.ts'

/**
 * From now on all that this process writes is lines of JSON: warnings of Node.js, the error that nobody
 * caught and that ends it, and what packages write. Only the engine's own last words, as when memory is
 * out, are text.
 */
export function writeOnlyJson(log: Logger) {
  process.removeAllListeners('warning')
  process.on('warning', (err) => {
    // Packages ask for what is experimental; nobody has to do anything.
    const level = err.name === 'ExperimentalWarning' ? 'debug' : 'warn'
    log[level]({ err }, 'warning of Node.js')
  })
  // Threads write theirs past us, so they write none.
  process.env['NODE_NO_WARNINGS'] = '1'
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'nobody caught an error: the process ends')
    endNow(1)
  })
  // The log itself writes to the file descriptor.
  process.stdout.write = toLines((line) => log.info({ stream: 'stdout' }, line))
  process.stderr.write = toLines((line) => log.warn({ stream: 'stderr' }, line))
}

function toLines(tell: (line: string) => void): typeof process.stdout.write {
  return (chunk, ...rest: unknown[]) => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    for (const line of text.split('\n')) if (line.trim() !== '') tell(line)
    const done = rest.at(-1)
    if (typeof done === 'function') process.nextTick(done as () => void)
    return true
  }
}
