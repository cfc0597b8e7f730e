/** Lets so many pieces of work run at once; the others wait in the order in which they came. */
export function limitAtOnce(max: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function run<T>(work: () => Promise<T>): Promise<T> {
    if (running < max) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // It takes the place of this one.
      if (next) next()
      else running--
    }
  }
}
