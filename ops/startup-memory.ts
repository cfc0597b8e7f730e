import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Gives back what loading the program has left, some 60 MiB. V8 would keep it until the heap has grown much
 * larger, under everything that requests need.
 */
export function freeStartupMemory() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as Collect | undefined
  setFlagsFromString('--no-expose-gc')
  collect?.({ type: 'major', flavor: 'last-resort' })
}

/** What a Node without the flag does not have. */
type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void
